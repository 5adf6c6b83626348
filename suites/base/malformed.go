package base

import (
	"context"
	"errors"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// maxUnresponsive bounds how many servers are lost to a line after which they answer
// no more, as each takes its time.
const maxUnresponsive = 2

func malformedCase() suite.Case {
	return suite.Case{
		ID:           "errors.malformed",
		Title:        "Sends lines that are not JSON or not a message, each followed by a request",
		Requirements: []string{parseError, invalidRequest, nullID, refusedBatch},
		Run: func(ctx context.Context, t *suite.T) {
			rest, unsure := linesFor(t.Revision, t.Transport), false
			for deaf := 0; len(rest) > 0 && deaf < maxUnresponsive; {
				w := &lineRun{c: t.Start(ctx, client.Options{})}
				rest, unsure = w.send(ctx, rest, unsure)
				w.awaitResponses(ctx)
				if ctx.Err() != nil {
					t.GiveUp("the case ran out of time")
				}
				w.judge(t)
				for _, p := range w.probes {
					if p.state == unresponsive {
						deaf++
					}
				}
			}
		},
	}
}

// serverState is how the server is after a line.
type serverState int

const (
	survived serverState = iota
	died
	unresponsive // it lives, and answers no more
)

// sentLine is one line that was sent.
type sentLine struct {
	line
	id       wire.ID // that an answer may have; none where it can't be read
	stem     wire.ID // the number that the id was made of
	frame    []byte  // as it was sent
	sent     int     // the position in the record from which it is to be found
	until    int     // the position after the answer to the fence behind it
	state    serverState
	reply    *wire.Message // the first answer, nil if none came
	event    *transcript.Event
	invented bool // the reply has an id that nobody sent
	byStatus bool // it was refused by an HTTP status, where an error needs no id
}

// lineRun sends lines in one conversation, as far as the server lives.
type lineRun struct {
	c      *client.Conversation
	from   int // where the lines begin in the record
	probes []*sentLine
	posts  map[int]*sentLine // over HTTP, by the exchanges in which the lines went
	over   bool              // nothing more can come
}

// send sends lines, a fence behind each, until one ends the server or makes
// it deaf, and returns those that are left. A server may answer another
// request before it ends, so that its end may belong to the line before, too:
// then both are left, and unsure. The first of two such lines is followed by
// a longer wait, and so is the last of all.
func (w *lineRun) send(ctx context.Context, lines []line, unsure bool) (rest []line, stillUnsure bool) {
	w.from = w.c.Record.Len()
	for i, l := range lines {
		p := &sentLine{line: l, sent: w.c.Record.Len()}
		var frame []byte
		frame, p.id, p.stem = l.fill(w.c)
		w.probes = append(w.probes, p)
		p.frame = frame
		_ = w.c.Send(ctx, frame) // that it can't be sent, the fence shows
		fence := w.c.Fence
		if unsure && i == 0 || i == len(lines)-1 {
			fence = w.c.Quiet
		}
		err := fence(ctx)
		p.until = w.c.Record.Len()
		if err == nil && w.c.Alive() {
			continue
		}
		w.over = true
		certain := i == 0 || unsure && i == 1
		switch {
		case errors.Is(err, client.ErrUnanswered) && w.c.Alive():
			p.state = unresponsive
		case certain: // an end shows first in that nothing can be sent
			p.state = died
		default:
			w.probes = w.probes[:i-1]
			return lines[i-1:], true
		}
		return lines[i+1:], false
	}
	return nil, false
}

// awaitResponses sorts the answers to the lines, those that came and those that are
// still to come.
func (w *lineRun) awaitResponses(ctx context.Context) {
	w.posts = map[int]*sentLine{}
	for _, p := range w.probes {
		if x := suite.PostedIn(w.c, p.sent); x != 0 {
			w.posts[x] = p
		}
	}
	events := w.c.Record.From(0)
	for _, e := range events {
		w.noteEvent(e)
	}
	for _, p := range w.probes {
		p.silence = p.silence || p.reply == nil && (suite.IsRefusedByStatus(w.c, p.sent) || suite.IsResumable(w.c, p.sent))
	}
	if !w.over && w.isWaiting() {
		_, _ = w.c.Await(ctx, len(events), func(e *transcript.Event) bool {
			w.noteEvent(e)
			return !w.isWaiting()
		}, client.MayIgnore)
	}
	for _, p := range w.probes {
		p.byStatus = suite.IsRefused(w.c, p.sent)
	}
}

// isWaiting reports whether an answer is still missed.
func (w *lineRun) isWaiting() bool {
	return slices.ContainsFunc(w.probes, func(p *sentLine) bool { return p.reply == nil && !p.silence })
}

func (w *lineRun) noteEvent(e *transcript.Event) {
	for i := range e.Messages() {
		if m := &e.Frame.Messages[i]; e.Kind == transcript.Received && m.Kind == wire.Response && e.Seq >= w.from {
			w.assignResponse(e, m)
		}
	}
}

// assignResponse finds the line that a response answers, which is the one of its
// exchange, or the first of these that has no answer yet: the one with its id; the one whose id it seems to be
// made of; for a result without an id the one with id null; the one that it
// followed at once; and any that still misses its answer.
func (w *lineRun) assignResponse(e *transcript.Event, m *wire.Message) {
	usable := m.ID.Present() && !m.ID.IsNull()
	foreign := usable && !w.c.HasSent(m.ID)
	if p := w.posts[e.Exchange]; p != nil {
		if p.reply == nil {
			p.reply, p.event, p.invented = m, e, foreign
		}
		return
	}
	ways := []func(*sentLine) bool{
		func(p *sentLine) bool { return usable && p.id.Present() && p.id.Same(m.ID) },
		func(p *sentLine) bool { return foreign && p.stem.Same(m.ID) },
		func(p *sentLine) bool { return !usable && m.Has("result") && p.requirement == nullID },
		func(p *sentLine) bool { return (foreign || !usable) && e.Seq < p.until },
		func(p *sentLine) bool { return (foreign || !usable) && !p.silence },
	}
	for _, way := range ways {
		i := slices.IndexFunc(w.probes, func(p *sentLine) bool { return p.reply == nil && p.sent <= e.Seq && way(p) })
		if i >= 0 {
			p := w.probes[i]
			p.reply, p.event, p.invented = m, e, foreign
			return
		}
	}
}
