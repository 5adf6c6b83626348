package stdio

import (
	"context"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	delimited    = "stdio.newline-delimited"
	interleaving = "stdio.interleaving"
	partialUTF8  = "stdio.partial-utf8"
)

// burstSize is the number of requests in one write: enough to span several
// reads of a small buffer.
const burstSize = 64

func framing() suite.Case {
	return suite.Case{
		ID:    "stdio.framing",
		Title: "Sends many requests in one write, requests byte by byte, and one with a carriage return before its newline",
		Requirements: []string{
			delimited, interleaving, partialUTF8, "stdio.one-message-per-line", "stdio.stdout-only-messages",
		},
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			steps := []func(context.Context, *suite.T, *client.Conversation){burst, pieces, multiByte, carriageReturn}
			for _, step := range steps {
				if !c.Alive() || c.Fence(ctx) != nil { // one failure must not hide another
					c = t.Start(ctx, client.Options{})
				}
				step(ctx, t, c)
				if ctx.Err() != nil {
					t.GiveUp("the case ran out of time")
				}
			}
		},
	}
}

// burst sends many messages in one write.
func burst(ctx context.Context, t *suite.T, c *client.Conversation) {
	var requests [][]byte
	for range burstSize {
		requests = append(requests, c.Request(c.NewID(), c.Harmless(), nil))
	}
	var missed *client.Reply
	for _, r := range c.AskTogether(ctx, requests...) {
		if !r.Answered() && missed == nil {
			missed = r
		}
	}
	if missed == nil {
		t.Kept(delimited)
		t.Kept(interleaving)
		return
	}
	t.Deviates(c, verdict.Deviation{
		Requirement: delimited,
		Summary:     "Of several messages that arrive together, not every one is answered.",
		Permitted:   "an answer to each request, in any order",
		Seen:        suite.Describe(missed),
		At:          positions(missed),
	})
}

// pieces sends one message with a write for each byte.
func pieces(ctx context.Context, t *suite.T, c *client.Conversation) {
	id := c.NewID()
	r := askInPieces(ctx, c, id, c.Request(id, c.Harmless(), nil))
	judgePieces(ctx, t, c, r, verdict.Deviation{
		Requirement: delimited,
		Summary:     "A message that arrives in pieces is not read as one.",
		Permitted:   "the answer to the request",
	})
}

// multiByte does the same with an id of characters that have several bytes
// each, so that hardly any two pieces meet between characters. An answer has
// to bring the id back, which shows what the server read.
func multiByte(ctx context.Context, t *suite.T, c *client.Conversation) {
	text := strings.Repeat("鍵🗝é", 24)
	whole, split := wire.StringID(text+"whole"), wire.StringID(text+"split")
	if !c.AskID(ctx, whole, c.Harmless(), nil).Answered() {
		t.NotObserved(partialUTF8, "a request whose id is not ASCII is not answered in one piece either")
		return
	}
	r := askInPieces(ctx, c, split, c.Request(split, c.Harmless(), nil))
	judgePieces(ctx, t, c, r, verdict.Deviation{
		Requirement: partialUTF8,
		Summary:     "A character that arrives in pieces is read wrongly.",
		Permitted:   "an answer with the request's id, as to the same request in one piece",
	})
}

func judgePieces(ctx context.Context, t *suite.T, c *client.Conversation, r *client.Reply, d verdict.Deviation) {
	switch {
	case r.Answered():
		t.Kept(d.Requirement)
	case ctx.Err() == nil:
		d.Seen, d.At = suite.Describe(r), positions(r)
		t.Deviates(c, d)
	}
}

// carriageReturn ends a line as Windows does. To JSON the carriage return is
// white space, so most servers take it; none is obliged to.
func carriageReturn(ctx context.Context, t *suite.T, c *client.Conversation) {
	id := c.NewID()
	from := c.Record.Len()
	if err := c.Send(ctx, append(c.Request(id, c.Harmless(), nil), '\r')); err != nil {
		return
	}
	r := c.Settle(ctx, from, id)
	if r.Answered() || ctx.Err() != nil {
		return
	}
	t.Deviates(c, verdict.Deviation{
		Requirement: delimited,
		Summary:     "A message with a carriage return before its newline is not served.",
		Permitted:   "an answer; not owed, but usual",
		Seen:        suite.Describe(r),
		At:          []int{from},
		Weight:      verdict.OnlyNote,
	})
}

// askInPieces sends a request with a write for each byte. Whether the server
// reads it in as many pieces is up to the system; some it will be.
func askInPieces(ctx context.Context, c *client.Conversation, id wire.ID, request []byte) *client.Reply {
	from := c.Record.Len()
	var chunks [][]byte
	for _, b := range append(request, '\n') {
		chunks = append(chunks, []byte{b})
	}
	if err := c.SendBytes(ctx, chunks...); err != nil {
		return &client.Reply{Err: err}
	}
	r := c.Settle(ctx, from, id)
	for _, e := range c.Record.From(from) {
		for i := range e.Messages() {
			if r.Sent == nil && e.Frame.Messages[i].ID == id {
				r.Sent = e
			}
		}
	}
	return r
}

func positions(r *client.Reply) []int {
	var at []int
	if r.Sent != nil {
		at = append(at, r.Sent.Seq)
	}
	if r.Event != nil {
		at = append(at, r.Event.Seq)
	}
	return at
}
