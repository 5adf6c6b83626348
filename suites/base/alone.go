package base

import (
	"context"
	"fmt"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const requestAnswered = "base.request-answered"

// followTime is the longest time between the next message and a response that counts as caused by
// that message.
const followTime = 100 * time.Millisecond

// silenceDurations returns how long a case waits before it sends the next message. No two of these
// times differ by less than twice followTime. So a response that always takes the same time can
// follow right after the next message with only one of these waits.
func silenceDurations() []time.Duration {
	return []time.Duration{1500 * time.Millisecond, 300 * time.Millisecond, 700 * time.Millisecond}
}

// maxUnanswered limits the requests that may stay without a response. A server that answers none of
// them may only be slow, and each of them costs a wait.
const maxUnanswered = 2

func aloneCase() suite.Case {
	return suite.Case{
		ID:                 "messages.alone",
		Title:              "Sends requests of every kind one at a time, and nothing else until the response comes",
		Requirements:       []string{requestAnswered},
		SharesConversation: true,
		Run:                sendAlone,
	}
}

// sendAlone looks for responses that the server writes only when it gets another message.
func sendAlone(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	answered, unanswered := false, 0
	for _, a := range aloneRequests(t, c) {
		if unanswered == maxUnanswered {
			break
		}
		r, followed := sendThenNext(ctx, c, a, silenceDurations()[0])
		switch {
		case r.Answered() && !followed:
			answered = true
			continue
		case !followed:
			unanswered++
			continue
		}
		for _, silence := range silenceDurations()[1:] {
			if r, followed = sendThenNext(ctx, c, a, silence); !followed {
				break
			}
		}
		if followed {
			t.Report(c, verdict.Deviation{
				Requirement: requestAnswered,
				Summary:     "The server answers a request only when it gets another message.",
				Permitted:   "the response at once: a client may send nothing more before it has the response",
				Seen:        fmt.Sprintf("%s: no response in silences of %v, and each time one right after the next request", a.method, silenceDurations()),
				At:          r.Positions(),
			})
			return
		}
	}
	if answered {
		t.MarkKept(requestAnswered)
	}
}

// aloneRequests returns a harmless request, requests for lists, a resource, a prompt and tools, as
// far as the server declares them, and one with an unknown method.
func aloneRequests(t *suite.T, c *client.Conversation) []plainRequest {
	all := []plainRequest{{method: c.HarmlessMethod()}}
	for _, l := range lists {
		if c.Server().Declares(l.capability) {
			all = append(all, plainRequest{method: l.method})
		}
	}
	all = append(all, resourceReads(t, 1)...)
	if bare := t.Inventory.BarePrompts; len(bare) > 0 {
		all = append(all, plainRequest{method: spec.MethodPromptsGet, params: map[string]any{"name": bare[0]}})
	}
	bare := t.Inventory.CallsWithoutArguments(maxTools)
	for _, tool := range bare {
		all = append(all, plainRequest{method: spec.MethodToolsCall, params: tool.Params()})
	}
	if len(bare) > 0 {
		all = append(all, plainRequest{method: spec.MethodToolsCall, params: bare[0].ParamsWithToken("mcp-conform/alone")})
	}
	return append(all, plainRequest{method: "com.example/does-not-exist"})
}

// sendThenNext sends a request. If no response comes within the given silence, it sends another
// request. It reports whether the response to the first request came right after the second was
// sent.
func sendThenNext(ctx context.Context, c *client.Conversation, a plainRequest, silence time.Duration) (r *client.Reply, followed bool) {
	id, from := c.NewID(), c.Record.Len()
	if c.Send(ctx, c.Request(id, a.method, a.params)) != nil {
		return &client.Reply{Err: client.ErrEnded}, false
	}
	if r = c.AwaitResponse(ctx, from, id, client.Within(silence)); r.Answered() {
		return r, false
	}
	next := c.Do(ctx, c.HarmlessMethod(), nil, client.Within(aloneTime))
	r = c.AwaitResponse(ctx, from, id, client.Within(followTime))
	if !r.Answered() {
		_ = c.Cancel(ctx, id, transcript.OverdueReason)
		return r, false
	}
	r.Sent = c.RequestSent(from, id)
	return r, next.Sent != nil && next.Sent.Seq < r.Event.Seq && r.Event.At-next.Sent.At < followTime
}
