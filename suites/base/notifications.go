package base

import (
	"context"
	"errors"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	noResponse = "base.notification-no-response"
	harmless   = "base.unknown-notification-harmless"
)

// unknownName is a notification method that no server knows.
const unknownName = "notifications/com.example.unknown"

func unknownNotificationCase() suite.Case {
	return suite.Case{
		ID:                 "messages.unknown-notifications",
		Title:              "Sends unknown notifications, and checks that the server neither responds nor stops",
		Requirements:       []string{harmless, noResponse},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			from := c.Record.Len()
			var frames [][]byte
			for _, n := range []struct {
				method string
				params map[string]any
			}{
				{unknownName, nil},
				{unknownName, map[string]any{"level": 5, "text": "unbekannt: ✓"}},
				{unknownName, map[string]any{"_meta": map[string]any{"com.example.harness/probe": map[string]any{"a": []int{1}}}}},
				{"com.example/unknown", nil}, // it has no id, so it is a notification
			} {
				frames = append(frames, c.Notification(n.method, n.params))
			}
			// The request is in the same write as the notifications. So if the server exits at a
			// notification, even at once, the missing response shows it.
			_ = c.Send(ctx, append(frames, c.Request(c.NewID(), c.HarmlessMethod(), nil))...) // after an error the fence shows why
			judgeSilence(ctx, t, c, from)
		},
	}
}

// judgeSilence judges what the server sent after the unknown notifications, which were sent at or
// after the given position.
func judgeSilence(ctx context.Context, t *suite.T, c *client.Conversation, from int) {
	err := c.AwaitQuiet(ctx)
	switch {
	case ctx.Err() != nil:
		t.GiveUp("the case ran out of time")
	case hasEnded(c, err):
		t.Report(c, verdict.Deviation{
			Requirement: harmless,
			Summary:     "The server exits at an unknown notification.",
			Permitted:   "no response, and later requests are served",
			Seen:        "the server ended the connection",
			At:          []int{firstSent(c, from)},
		})
	case err != nil:
		t.Report(c, verdict.Deviation{
			Requirement: harmless,
			Summary:     "The server stops answering after an unknown notification.",
			Permitted:   "no response, and later requests are served",
			Seen:        "a request that followed was not answered",
			At:          []int{firstSent(c, from)},
		})
	case len(unmatchedResponses(c, from)) > 0:
		t.Report(c, verdict.Deviation{
			Requirement: harmless,
			Summary:     "The server answers an unknown notification.",
			Permitted:   "no response, and later requests are served",
			Seen:        "a response without an id",
			At:          append([]int{firstSent(c, from)}, unmatchedResponses(c, from)...),
		})
	default:
		t.MarkKept(harmless)
		t.MarkKept(noResponse)
	}
}

// hasEnded reports whether the server ended; fence is the error that Fence returned. A failed write
// may be the first sign that the server has ended.
func hasEnded(c *client.Conversation, fence error) bool {
	return !c.Alive() || fence != nil && !errors.Is(fence, client.ErrUnanswered)
}

// oddNotificationCase sends known notifications that refer to nothing, and then some with invalid
// params. A client must not send invalid params, so a server may end after them, but it must not
// respond.
func oddNotificationCase() suite.Case {
	return suite.Case{
		ID:                 "messages.odd-notifications",
		Title:              "Sends notifications with params that are wrong or not an object, and checks for responses",
		Requirements:       []string{noResponse},
		Revisions:          spec.HandshakeRevisions(),
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			from := c.Record.Len()
			for _, n := range []struct {
				method string
				params map[string]any
			}{
				{spec.MethodCancelled, map[string]any{"requestId": 7_000_003, "reason": "never sent"}},
				{spec.MethodProgress, map[string]any{"progressToken": "never given", "progress": 1}},
				{spec.MethodCancelled, map[string]any{"reason": "names no request"}},
				{spec.MethodProgress, map[string]any{"progress": "much"}},
			} {
				if err := c.Notify(ctx, n.method, n.params); err != nil {
					break
				}
				t.Fence(ctx, c)
			}
			t.AwaitQuiet(ctx, c)
			if len(unmatchedResponses(c, from)) == 0 {
				t.MarkKept(noResponse)
			}
		},
	}
}

// unmatchedResponses returns the positions of the events, at or after the given position, in which
// a response without an id was received. It skips the bodies of refused POSTs, which may be such
// responses.
func unmatchedResponses(c *client.Conversation, from int) []int {
	var at []int
	exchanges := transcript.ExchangesOf(c.Record.From(0))
	for _, e := range c.Record.From(from) {
		if x := exchanges.Of(e); e.Kind != transcript.Received || x != nil && x.Refused() && e.Stream == nil {
			continue
		}
		for i := range e.Frame.Messages {
			if m := &e.Frame.Messages[i]; m.Kind == wire.Response && (!m.ID.IsPresent() || m.ID.IsNull()) {
				at = append(at, e.Seq)
			}
		}
	}
	return at
}
