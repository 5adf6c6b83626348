package stdio

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	delimited    = "stdio.newline-delimited"
	interleaving = "stdio.interleaving"
	partialUTF8  = "stdio.partial-utf8"
)

// burstSize is the number of requests in one write: enough to span several reads of a small
// buffer.
const burstSize = 64

func framingCase() suite.Case {
	return suite.Case{
		ID:    "stdio.framing",
		Title: "Sends many requests in one write, requests byte by byte, and a line that ends in CR LF",
		Requirements: []string{
			delimited, interleaving, partialUTF8, "stdio.stdout-only-messages",
		},
		SpoilsServer: true,
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			steps := []step{sendInPieces, sendSplitCharacters, sendCarriageReturn}
			if !sendBurst(ctx, t, c) {
				t.MarkNotObserved(partialUTF8, "the server loses messages that arrive together, so mcp-conform can't tell how it receives the pieces of one")
				steps = []step{sendCarriageReturn}
			}
			for _, step := range steps {
				if ctx.Err() != nil {
					t.GiveUp("the case ran out of time")
				}
				if !c.Alive() || c.Fence(ctx) != nil { // one failure must not hide another
					c = t.Start(ctx, client.Options{})
				}
				step(ctx, t, c)
			}
		},
	}
}

type step func(context.Context, *suite.T, *client.Conversation)

// sendBurst sends many requests in one write, and reports whether all were answered.
func sendBurst(ctx context.Context, t *suite.T, c *client.Conversation) bool {
	var requests [][]byte
	for range c.BurstSize(burstSize, c.Request(c.NewID(), c.HarmlessMethod(), nil)) {
		requests = append(requests, c.Request(c.NewID(), c.HarmlessMethod(), nil))
	}
	var missed *client.Reply
	from := c.Record.Len()
	for i, r := range c.DoAll(ctx, requests) {
		if !r.Answered() && missed == nil && !suite.AwaitExpected(ctx, c, from, wire.Parse(requests[i]).Messages[0].ID).Answered() {
			missed = r
		}
	}
	if missed == nil {
		t.MarkKept(delimited)
		t.MarkKept(interleaving)
		return true
	}
	if ctx.Err() != nil {
		t.GiveUp("the case ran out of time")
	}
	t.Report(c, verdict.Deviation{
		Requirement: delimited,
		Summary:     "The server does not answer all messages that arrive together.",
		Permitted:   "a response to each request, in any order",
		Seen:        suite.Describe(missed),
		At:          missed.Positions(),
	})
	return false
}

// sendInPieces sends half of a message, and then the rest byte by byte.
func sendInPieces(ctx context.Context, t *suite.T, c *client.Conversation) {
	id := c.NewID()
	request := c.Request(id, c.HarmlessMethod(), nil)
	judgePieces(ctx, t, c, requestInPieces(ctx, c, id, request, len(request)/2), verdict.Deviation{
		Requirement: delimited,
		Summary:     "The server does not read a message that arrives in chunks.",
		Permitted:   "the response to the request",
	})
}

// sendSplitCharacters sends messages with three characters of two, three and four bytes, and cuts
// each message at a different place between these bytes. The characters are in the id, so that the
// response shows what the server read.
func sendSplitCharacters(ctx context.Context, t *suite.T, c *client.Conversation) {
	if !c.Do(ctx, c.HarmlessMethod(), nil, client.WithID(wire.StringID("é鍵🗝"))).Answered() {
		t.MarkNotObserved(partialUTF8, "the server does not answer a request with a non-ASCII id that arrives in one piece, either")
		return
	}
	var r *client.Reply
	for cut := range len("é鍵🗝") - 1 {
		id := wire.StringID("é鍵🗝" + strconv.Itoa(cut))
		request := c.Request(id, c.HarmlessMethod(), nil)
		r = requestInPieces(ctx, c, id, request, bytes.Index(request, []byte("é"))+1+cut)
		if !r.Answered() {
			break
		}
	}
	judgePieces(ctx, t, c, r, verdict.Deviation{
		Requirement: partialUTF8,
		Summary:     "The server misreads a character that arrives in chunks.",
		Permitted:   "a response with the request's id, as to the same request in one chunk",
	})
}

func judgePieces(ctx context.Context, t *suite.T, c *client.Conversation, r *client.Reply, d verdict.Deviation) {
	switch {
	case r.Answered():
		t.MarkKept(d.Requirement)
	case ctx.Err() == nil:
		d.Seen, d.At = suite.Describe(r), r.Positions()
		t.Report(c, d)
	}
}

// sendCarriageReturn ends a line as on Windows. In JSON the carriage return is white space, so
// most servers accept it, but none has to.
func sendCarriageReturn(ctx context.Context, t *suite.T, c *client.Conversation) {
	id := c.NewID()
	from := c.Record.Len()
	if err := c.Send(ctx, append(c.Request(id, c.HarmlessMethod(), nil), '\r')); err != nil {
		return
	}
	r := c.AwaitResponse(ctx, from, id, client.MayIgnore)
	if r.Answered() || ctx.Err() != nil {
		return
	}
	t.Report(c, verdict.Deviation{
		Requirement: delimited,
		Summary:     "The server does not serve a line that ends with CR LF.",
		Permitted:   "a response; not required, but usual",
		Seen:        suite.Describe(r),
		At:          sentSince(c, from),
		Weight:      verdict.OnlyNote,
	})
}

// requestInPieces sends the part of a request before the byte at cut, and then the rest byte by
// byte. The first part follows another request in the same write: once that is answered, the server
// has read the first part without the rest.
func requestInPieces(ctx context.Context, c *client.Conversation, id wire.ID, request []byte, cut int) *client.Reply {
	before := c.NewID()
	first := slices.Concat(c.Request(before, c.HarmlessMethod(), nil), []byte("\n"), request[:cut])
	release := sync.OnceFunc(c.HoldReplies())
	defer release()
	from := c.Record.Len()
	if err := c.SendBytes(ctx, first); err != nil {
		return &client.Reply{Err: err}
	}
	_ = suite.AwaitExpected(ctx, c, from, before) // if the server mishandled the first write, the later response shows it
	var rest [][]byte
	for _, b := range append(slices.Clone(request[cut:]), '\n') {
		rest = append(rest, []byte{b})
	}
	if err := c.SendBytes(ctx, rest...); err != nil {
		return &client.Reply{Err: err}
	}
	release()
	r := suite.AwaitExpected(ctx, c, from, id)
	r.Sent = c.RequestSent(from, id)
	return r
}

// sentSince returns the position of the first frame sent at or after the given position, as
// evidence. It returns nil if there is none.
func sentSince(c *client.Conversation, from int) []int {
	for _, e := range c.Record.From(from) {
		if e.Kind == transcript.Sent {
			return []int{e.Seq}
		}
	}
	return nil
}
