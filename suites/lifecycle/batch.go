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

// batchedInitialize sends initialize in a batch, alone and with a ping, and a
// sound initialize behind both, whose answer shows that they were read.
func batchedInitialize(ctx context.Context, t *suite.T) {
	c := t.Open(ctx, client.Options{})
	from := c.Record.Len()
	alone, beside := c.NewID(), c.NewID()
	for _, frame := range [][]byte{
		batch(wire.NewRequest(alone, spec.MethodInitialize, c.InitializeParams())),
		batch(
			wire.NewRequest(beside, spec.MethodInitialize, c.InitializeParams()),
			wire.NewRequest(c.NewID(), spec.MethodPing, nil),
		),
	} {
		if err := c.Send(ctx, frame); err != nil {
			t.GiveUp("the batch could not be sent: " + err.Error())
		}
	}
	sound := c.Initialize(ctx)
	if ended(sound) {
		deviates(t, c, sound, batchInitialize, "a batch with initialize ends the server", "an error, or silence")
		return
	}
	if !sound.Answered() {
		t.GiveUp("no initialize was answered after the batch")
	}
	for _, id := range []wire.ID{alone, beside} {
		r := c.Settle(ctx, from, id)
		r.Sent = firstSent(c, from, id)
		switch {
		case r.Succeeded():
			deviates(t, c, r, batchInitialize, "initialize is accepted as part of a batch", "an error, or silence")
		case r.Answered() || refusedAsWhole(c, from):
			t.Kept(batchInitialize)
		default:
			t.NotObserved(batchInitialize, "the batch was neither accepted nor refused")
		}
	}
}

func batch(members ...[]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(members, []byte(",")), []byte("]"))
}

// refusedAsWhole tells whether an error came that belongs to no request.
func refusedAsWhole(c *client.Conversation, from int) bool {
	for _, e := range c.Record.From(from) {
		if e.Kind != transcript.Received {
			continue
		}
		for _, m := range e.Messages() {
			if m.IsError() && (!m.ID.Present() || m.ID.IsNull()) {
				return true
			}
		}
	}
	return false
}

func firstSent(c *client.Conversation, from int, id wire.ID) *transcript.Event {
	for _, e := range c.Record.From(from) {
		if e.Kind == transcript.Sent && len(e.Messages()) > 0 && e.Messages()[0].ID.Same(id) {
			return e
		}
	}
	return nil
}
