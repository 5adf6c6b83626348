package fuzz

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// talk is a conversation under way.
type talk struct {
	*Talk
	c        *client.Conversation
	answers  *client.Answers
	held     [][]byte // frames that go out with the next one
	heldFrom int      // the first operation among them
	at       int      // how far the record was read
	answered map[string]*wire.Message
	asks     []asked
	over     bool          // the server ended, or does not listen
	missed   bool          // an answer did not come in time
	heard    time.Duration // when the newest answer came
	torn     bool          // a write was given up, perhaps in the middle of a line
}

// asked is a request that was sent.
type asked struct {
	id        wire.ID
	method    string
	params    bool // it holds what provably is wrong
	cancelled bool
	left      bool // it was cancelled at the end, by no operation
	task      bool
	odd       bool // nothing is owed to it by itself: it is one of several in a line, or its id is not one
	at        time.Duration
}

func (t *talk) cancelled(id wire.ID) {
	for i := range t.asks {
		if t.asks[i].id.Same(id) {
			t.asks[i].cancelled = true
		}
	}
}

// until reads the record until something is so.
func (t *talk) until(ctx context.Context, limit time.Duration, so func() bool) bool {
	t.read(t.c.Record.From(t.at))
	if so() {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		events, err := t.c.Record.Wait(ctx, t.at)
		if err != nil {
			return false
		}
		t.read(events)
		switch {
		case so():
			return true
		case !t.c.Alive():
			t.read(t.c.Record.From(t.at))
			return so()
		}
	}
}

// read takes note of the answers among the events.
func (t *talk) read(events []*transcript.Event) {
	for _, e := range events {
		t.at = e.Seq + 1
		if e.Kind != transcript.Received {
			continue
		}
		for i := range e.Messages() {
			m := &e.Frame.Messages[i]
			if m.Kind != wire.Response {
				continue
			}
			t.heard = e.At
			if t.answered[m.ID.Key()] == nil {
				t.answered[m.ID.Key()] = m
			}
		}
	}
}

// open returns the requests that are owed an answer and have none.
func (t *talk) open() []asked {
	var out []asked
	for _, a := range t.asks {
		if t.answered[a.id.Key()] == nil && generate.Owed(a.method) && !a.cancelled && !a.params {
			out = append(out, a)
		}
	}
	return out
}

// sent returns where the request with the id stands in the record.
func (t *talk) sent(id wire.ID) (int, bool) {
	for _, e := range t.c.Record.From(0) {
		if e.Kind != transcript.Sent {
			continue
		}
		for i := range e.Messages() {
			if m := &e.Frame.Messages[i]; m.Kind == wire.Request && m.ID.Same(id) {
				return e.Seq, true
			}
		}
	}
	return 0, false
}

// frames counts those in both directions.
func frames(events []*transcript.Event) int {
	n := 0
	for _, e := range events {
		if e.Kind == transcript.Sent || e.Kind == transcript.Received {
			n++
		}
	}
	return n
}
