package lifecycle

import (
	"bytes"
	"context"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// sendBatchedInitialize sends initialize in a batch, alone and with a ping, and then a valid
// initialize, whose response shows that both batches were read.
func sendBatchedInitialize(ctx context.Context, t *suite.T) {
	c := t.Open(ctx, client.Options{})
	from := c.Record.Len()
	alone, beside := c.NewID(), c.NewID()
	// If this can't be sent, the server has ended, and initialize shows it.
	_ = c.Send(ctx,
		joinAsArray(wire.NewRequest(alone, spec.MethodInitialize, c.InitializeParams())),
		joinAsArray(
			wire.NewRequest(beside, spec.MethodInitialize, c.InitializeParams()),
			wire.NewRequest(c.NewID(), spec.MethodPing, nil),
		),
	)
	valid := c.Initialize(ctx)
	if hasEndedInstead(ctx, c, valid) {
		reportDeviation(t, c, valid, batchInitialize, "The server exits at a batch with initialize.", "an error, or no response")
		return
	}
	if !valid.Answered() {
		t.GiveUp("the server answered no initialize after the batch")
	}
	responses, refusals := 0, 0
	_, err := c.Await(ctx, from, func(e *transcript.Event) bool {
		for i := range e.Messages() {
			switch m := &e.Messages()[i]; {
			case e.Kind != transcript.Received || m.Kind != wire.Response:
			case m.ID.Same(alone) || m.ID.Same(beside):
				responses++
			case !m.ID.IsPresent() || m.ID.IsNull():
				refusals++ // refusal of a batch as a whole
			}
		}
		return responses+refusals == 2
	}, client.MayIgnore)
	if err != nil && suite.HasEnded(ctx, c, err) {
		reportDeviation(t, c, valid, batchInitialize, "The server exits at a batch with initialize.", "an error, or no response")
		return
	}
	dialogue := transcript.DialogueOf(c.Record.From(from))
	for _, id := range []wire.ID{alone, beside} {
		var r *client.Reply
		for _, request := range dialogue.RequestsWithID(id) {
			if response := request.Response(); response != nil {
				r = &client.Reply{Sent: request.Event, Event: response.Event, Message: response.Message}
			}
		}
		switch {
		case r != nil && r.Succeeded():
			reportDeviation(t, c, r, batchInitialize, "The server accepts initialize in a batch.", "an error, or no response")
		case r != nil:
			t.MarkKept(batchInitialize)
		case refusals > 0:
			refusals--
			t.MarkKept(batchInitialize)
		default:
			t.MarkNotObserved(batchInitialize, "the server neither accepted nor refused the batch")
		}
	}
}

func joinAsArray(members ...[]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(members, []byte(",")), []byte("]"))
}
