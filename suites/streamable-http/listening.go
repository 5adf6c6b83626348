package streamablehttp

import (
	"context"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

func getStreamCase() suite.Case {
	return suite.Case{
		ID:    "streamable-http.listening",
		Title: "Opens two streams by GET, sends requests meanwhile, closes both, and continues",
		Provokes: []string{
			"streamable-http.single-endpoint", "streamable-http.get-stream-or-405", "streamable-http.get-unrelated",
			"streamable-http.get-no-response", "streamable-http.get-retry-before-close", "streamable-http.concurrent-streams",
			"streamable-http.no-broadcast", "streamable-http.event-id-unique", "streamable-http.accepted-202-response",
			"streamable-http.sse-interim-related-2025-03-26", "lifecycle.shutdown-http",
			"streamable-http.sse-close-after-response-2025-03-26", "streamable-http.resume-via-get",
		},
		Waits:    true,
		OnlyOver: spec.StreamableHTTP,
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Start(ctx, client.Options{})
			w := t.Web(c)
			var streams []*suite.Stream
			for range 2 { // the conversation has its own stream
				s := w.Begin(suite.WebRequest{Method: "GET"})
				streams = append(streams, s)
				if !s.AwaitOpened(ctx) {
					break
				}
			}
			callVerboseTools(ctx, t, c)
			callUntilStreamEnd(ctx, t, w)
			w.SendHarmless(ctx)
			if last := streams[len(streams)-1]; isStream(last) && !slices.ContainsFunc(streams, isOpen) {
				again := w.Begin(suite.WebRequest{Method: "GET"}) // so that the client closes a stream too, not only the server
				again.AwaitOpened(ctx)
				streams = append(streams, again)
			}
			for _, s := range streams {
				s.Drop()
			}
			_ = c.AwaitQuiet(ctx) // so that the server has noticed the closed streams
			w.SendHarmless(ctx)
		},
	}
}

// isOpen reports whether the server opened the stream and it has not ended.
func isOpen(s *suite.Stream) bool { return isStream(s) && s.Exchange().End == nil }

func isStream(s *suite.Stream) bool {
	x := s.Exchange()
	return x != nil && x.Succeeded() && x.IsStream()
}

// callTime bounds calls of tools that are known to take less time.
const callTime = 3 * time.Second

// endTime is longer than a stream may stay open after the response.
const endTime = 6 * time.Second

// callUntilStreamEnd makes a call and waits until its stream ends. A conforming server ends it
// right after the response.
func callUntilStreamEnd(ctx context.Context, t *suite.T, w *suite.Web) {
	if !t.KnowsTool(inventory.Slow) {
		return
	}
	k, _ := t.Inventory.SlowCall(60*time.Millisecond, 2)
	s := w.Begin(suite.WebRequest{Body: w.C.Request(w.C.NewID(), spec.MethodToolsCall, k.Params())})
	s.WaitUntil(ctx, endTime, func(x *transcript.Exchange) bool { return x.HowEnded() != "" })
	s.Drop()
}

// callVerboseTools calls the tools that are known to send messages in addition to their result.
func callVerboseTools(ctx context.Context, t *suite.T, c *client.Conversation) {
	if t.KnowsTool(inventory.Logging) {
		k, _ := t.Inventory.LoggingCall()
		c.Do(ctx, spec.MethodToolsCall, k.Params(), client.Within(callTime))
	}
	if k, ok := t.Inventory.AskingCall(); ok {
		c.Do(ctx, spec.MethodToolsCall, k.Params(), client.Within(callTime))
	}
	if k, ok := t.Inventory.SlowCall(60*time.Millisecond, 2); ok {
		for _, token := range []string{"mcp-conform/listening-1", "mcp-conform/listening-2"} {
			c.Do(ctx, spec.MethodToolsCall, k.ParamsWithToken(token), client.Within(callTime))
		}
	}
}
