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
	emptyArray     = "base.batch-empty-array"
	invalidMembers = "base.batch-invalid-members"
)

func damagedBatchCase() suite.Case {
	return suite.Case{
		ID:           "messages.damaged-batch",
		Title:        "Sends a batch with an invalid member, and an empty batch",
		Requirements: []string{emptyArray, invalidMembers},
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			id := c.NewID()
			a, err := sendBatch(ctx, c, []wire.ID{id}, c.Request(id, c.HarmlessMethod(), nil))
			if err != nil || a.missed {
				t.GiveUp("the server serves no batches at all")
			}
			sendInvalidMember(ctx, t, c)
			if !c.Alive() || c.Fence(ctx) != nil {
				c = t.Start(ctx, client.Options{})
			}
			sendEmptyBatch(ctx, t, c)
		},
	}
}

func sendInvalidMember(ctx context.Context, t *suite.T, c *client.Conversation) {
	id := c.NewID()
	a, err := sendBatch(ctx, c, []wire.ID{id}, []byte("1"), c.Request(id, c.HarmlessMethod(), nil))
	if err != nil {
		t.MarkNotObserved(invalidMembers, "mcp-conform got no response to the batch: "+err.Error())
		return
	}
	d := verdict.Deviation{
		Requirement: invalidMembers,
		Permitted:   "a response to the valid member, and error -32600 without an id for the other",
		At:          []int{a.sent},
	}
	if a.missed && !a.ended && suite.IsRefused(c, a.from) {
		t.MarkNotObserved(invalidMembers, "the server refused the whole batch by its HTTP status")
		return
	}
	if !a.missed {
		a.ended = hasEnded(c, c.AwaitQuiet(ctx)) // the two responses may come separately
	}
	unmatched, message := firstUnmatchedResponse(c, a.from)
	code, _ := errorCode(message)
	switch {
	case a.ended:
		d.Summary, d.Seen = "The server exits at a batch with an invalid member.", "the server ended the connection"
	case a.missed:
		d.Summary, d.Seen = "The server does not serve a batch with an invalid member.", "no answer to the valid member"
	case unmatched == nil:
		d.Summary, d.Seen = "The server ignores an invalid member of a batch.", "an answer to the valid member only"
	case code != spec.CodeInvalidRequest:
		d.Summary, d.Seen = "The server reports an invalid batch member, but not with -32600.", string(message.Raw)
	default:
		t.MarkKept(invalidMembers)
		return
	}
	if unmatched != nil {
		d.At = append(d.At, unmatched.Seq)
	}
	t.Report(c, d)
}

func sendEmptyBatch(ctx context.Context, t *suite.T, c *client.Conversation) {
	from := c.Record.Len()
	_ = c.Send(ctx, []byte("[]")) // if it can't be sent, the fence fails
	event, err := c.Await(ctx, from, func(e *transcript.Event) bool {
		return e.Kind == transcript.Received && (e.Frame.Batch || unmatchedResponse(e) != nil)
	}, client.MayIgnore)
	d := verdict.Deviation{
		Requirement: emptyArray,
		Permitted:   "one error -32600 without an id, not in an array",
		At:          []int{firstSent(c, from)},
	}
	if event != nil {
		d.At = append(d.At, event.Seq)
		d.Seen = wire.Excerpt(string(event.Raw), 200)
	}
	switch {
	case ctx.Err() != nil:
		t.MarkNotObserved(emptyArray, "the case ran out of time")
		return
	case err != nil && hasEnded(c, c.Fence(ctx)):
		d.Summary, d.Seen = "The server exits at an empty batch.", "the server ended the connection"
	case errors.Is(err, client.ErrNoFence):
		t.MarkNotObserved(emptyArray, "the server no longer answers")
		return
	case err != nil && suite.IsRefusedByStatus(c, from):
		t.MarkNotObserved(emptyArray, "the server refused the batch by HTTP status alone")
		return
	case err != nil:
		d.Summary, d.Seen = "The server does not answer an empty batch.", suite.DescribeSilence(c, from)
	case event.Frame.Batch:
		d.Summary = "The server answers an empty batch with an array."
	default:
		if code, ok := errorCode(unmatchedResponse(event)); ok && code == spec.CodeInvalidRequest {
			t.MarkKept(emptyArray)
			return
		}
		d.Summary = "The server answers an empty batch, but not with -32600."
	}
	t.Report(c, d)
}

// unmatchedResponse returns the event's first response without an id or with id null, which
// therefore matches no request. It returns nil if the event has no such response.
func unmatchedResponse(e *transcript.Event) *wire.Message {
	for i := range e.Messages() {
		if m := &e.Frame.Messages[i]; m.Kind == wire.Response && (!m.ID.IsPresent() || m.ID.IsNull()) {
			return m
		}
	}
	return nil
}

func firstUnmatchedResponse(c *client.Conversation, from int) (*transcript.Event, *wire.Message) {
	for _, e := range c.Record.From(from) {
		if e.Kind != transcript.Received {
			continue
		}
		if m := unmatchedResponse(e); m != nil {
			return e, m
		}
	}
	return nil, nil
}

func errorCode(m *wire.Message) (spec.Code, bool) {
	if m == nil {
		return 0, false
	}
	code, ok := m.ErrorCode()
	return spec.Code(code), ok
}
