package errors

import (
	"context"
	"errors"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// maxDeaf bounds how many servers are lost to a line after which they answer
// no more, as each takes the whole timeout.
const maxDeaf = 2

func malformed() suite.Case {
	return suite.Case{
		ID:           "errors.malformed",
		Title:        "Sends what is no JSON or no message, one after the other, and a request after each",
		Requirements: []string{parseError, invalidRequest, nullID, refusedBatch},
		Run: func(ctx context.Context, t *suite.T) {
			rest := linesFor(t.Revision, t.Transport)
			for deaf := 0; len(rest) > 0 && deaf < maxDeaf; {
				w := walk{c: t.Start(ctx, client.Options{})}
				rest = w.send(ctx, rest)
				w.await(ctx)
				if ctx.Err() != nil {
					t.GiveUp("the case ran out of time")
				}
				for _, p := range w.probes {
					w.judge(t, p)
					if p.fate == deafened {
						deaf++
					}
				}
			}
		},
	}
}

// fate is what became of the server after a line.
type fate int

const (
	survived fate = iota
	died
	deafened // it lives, and answers no more
)

// probe is one line that was sent.
type probe struct {
	line
	id       wire.ID
	sent     int // its position in the record
	until    int // the position after the answer to the fence behind it
	fate     fate
	reply    *wire.Message // the first answer, nil if none came
	event    *transcript.Event
	invented bool // the reply has an id that nobody sent
}

// walk sends lines in one conversation, as far as the server lives.
type walk struct {
	c      *client.Conversation
	from   int // where the lines begin in the record
	probes []*probe
	sent   map[string]bool // keys of all ids sent
}

// send sends lines, a fence behind each, until one ends the server or makes
// it deaf, and returns those that are left.
func (w *walk) send(ctx context.Context, lines []line) (rest []line) {
	w.from = w.c.Record.Len()
	for i, l := range lines {
		frame, id := l.fill(w.c)
		p := &probe{line: l, id: id, sent: w.c.Record.Len()}
		w.probes = append(w.probes, p)
		_ = w.c.Send(ctx, frame) // that it can't be sent, the fence shows
		err := w.c.Fence(ctx)
		p.until = w.c.Record.Len()
		switch {
		case err == nil && w.c.Alive():
			continue
		case errors.Is(err, client.ErrUnanswered) && w.c.Alive():
			p.fate = deafened
		default: // an end shows first in that nothing can be sent
			p.fate = died
		}
		return lines[i+1:]
	}
	return nil
}

// await sorts the answers to the lines, those that came and those that are
// still to come.
func (w *walk) await(ctx context.Context) {
	w.sent = map[string]bool{}
	events := w.c.Record.From(0)
	for _, e := range events {
		w.take(e)
	}
	if w.waiting() && w.probes[len(w.probes)-1].fate == survived {
		_, _ = w.c.SettleFor(ctx, len(events), func(e *transcript.Event) bool {
			w.take(e)
			return !w.waiting()
		})
	}
}

// waiting tells whether an answer is still missed.
func (w *walk) waiting() bool {
	for _, p := range w.probes {
		if p.reply == nil && !p.silence {
			return true
		}
	}
	return false
}

func (w *walk) take(e *transcript.Event) {
	for i := range e.Messages() {
		m := &e.Frame.Messages[i]
		switch {
		case e.Kind == transcript.Sent && m.ID.Present():
			w.sent[m.ID.Key()] = true
		case e.Kind == transcript.Received && m.Kind == wire.Response && e.Seq >= w.from:
			w.assign(e, m)
		}
	}
}

// assign finds the line that a response answers: the one with its id; for a
// response without a usable one the line before it, or, when that has its
// answer, the first that has none.
func (w *walk) assign(e *transcript.Event, m *wire.Message) {
	usable := m.ID.Present() && !m.ID.IsNull()
	var match *probe
	for _, p := range w.probes {
		switch {
		case p.reply != nil:
		case usable && p.id.Present() && p.id.Same(m.ID):
			match = p
		case usable && w.sent[m.ID.Key()]: // an answer to somebody else
		case e.Seq >= p.sent && e.Seq < p.until, match == nil && e.Seq >= p.until && !p.silence && !usable:
			match = p
		}
	}
	if match == nil {
		return
	}
	match.reply, match.event = m, e
	match.invented = usable && !w.sent[m.ID.Key()]
}
