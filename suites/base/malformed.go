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

// maxUnresponsive bounds how many servers may become unresponsive, because each costs the whole
// timeout.
const maxUnresponsive = 2

func malformedCase() suite.Case {
	return suite.Case{
		ID:           "errors.malformed",
		Title:        "Sends lines that are not JSON or not a message, each followed by a request",
		Requirements: []string{parseError, invalidRequest, nullID, refusedBatch},
		SpoilsServer: true,
		Reuses:       suite.ReuseAny,
		Run: func(ctx context.Context, t *suite.T) {
			rest, unsure := linesFor(t.Revision, t.Transport), false
			for lost := 0; len(rest) > 0 && lost < maxUnresponsive; {
				w := &lineRun{c: t.Start(ctx, client.Options{})}
				rest, unsure = w.send(ctx, rest, unsure)
				w.awaitResponses(ctx)
				if ctx.Err() != nil {
					t.GiveUp("the case ran out of time")
				}
				w.judge(t)
				for _, p := range w.probes {
					if p.state == unresponsive {
						lost++
					}
				}
			}
		},
	}
}

// serverState is the state of the server after a line.
type serverState int

const (
	survived serverState = iota
	died
	unresponsive // alive, but not responding
)

// sentLine is a line that was sent.
type sentLine struct {
	line
	id       wire.ID // the id that a response may have; absent if it can't be read
	stem     wire.ID // the fresh number in the id
	frame    []byte  // as it was sent
	sent     int     // the position in the transcript from which to search for the line
	until    int     // the position after the response to the next fence
	state    serverState
	reply    *wire.Message // the first response, nil if none came
	event    *transcript.Event
	invented bool // the response has an id that was never sent
	byStatus bool // the line was refused by HTTP status; then an error needs no id
}

// lineRun sends lines in one conversation, until the server ends or becomes unresponsive.
type lineRun struct {
	c      *client.Conversation
	from   int // the position of the first line in the transcript
	probes []*sentLine
	posts  map[int]*sentLine // over HTTP: lines by their exchanges
	over   bool              // no more responses can come
}

// send sends lines, each followed by a request whose response shows that the server has read the
// line, until the server ends or becomes unresponsive. It returns the remaining lines. A server may
// answer one more request before it ends, so the cause of the end may be the last line or the one
// before it. If both are possible, the remaining lines begin with these two, and stillUnsure is
// set. A call with these remaining lines must set unsure. It then waits longer after the first
// line, to see whether this line is the cause. After the last line, send always waits longer.
func (w *lineRun) send(ctx context.Context, lines []line, unsure bool) (rest []line, stillUnsure bool) {
	w.from = w.c.Record.Len()
	for i, l := range lines {
		p := &sentLine{line: l, sent: w.c.Record.Len()}
		var frame []byte
		frame, p.id, p.stem = l.makeFrame(w.c)
		w.probes = append(w.probes, p)
		p.frame = frame
		_ = w.c.Send(ctx, frame) // if it can't be sent, the fence fails
		err := w.c.FenceIdle(ctx)
		if err == nil && (unsure && i == 0 || i == len(lines)-1) {
			err = w.c.AwaitQuiet(ctx)
		}
		p.until = w.c.Record.Len()
		if err == nil && w.c.Alive() {
			continue
		}
		w.over = true
		certain := i == 0 || unsure && i == 1
		switch {
		case errors.Is(err, client.ErrUnanswered) && w.c.Alive():
			p.state = unresponsive
		case certain: // a failed write may be the first sign that the server has ended
			p.state = died
		default:
			w.probes = w.probes[:i-1]
			return lines[i-1:], true
		}
		return lines[i+1:], false
	}
	return nil, false
}

// awaitResponses waits for missing responses, and assigns each response to its line.
func (w *lineRun) awaitResponses(ctx context.Context) {
	w.posts = map[int]*sentLine{}
	for _, p := range w.probes {
		if x := suite.FirstPostFrom(w.c, p.sent); x != 0 {
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

// isWaiting reports whether a response is still missing.
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

// assignResponse finds the line to which a response belongs. Over HTTP it is the line of the same
// exchange. Otherwise it is the first unanswered line that matches in this order: the line with the
// response's id; a line whose id contains the response's id, as in ID.5; for a result without an
// id, the line with id null; the line directly before the response; any line that still expects a
// response.
func (w *lineRun) assignResponse(e *transcript.Event, m *wire.Message) {
	usable := m.ID.IsPresent() && !m.ID.IsNull()
	foreign := usable && !w.c.HasSent(m.ID)
	if p := w.posts[e.Exchange]; p != nil {
		if p.reply == nil {
			p.reply, p.event, p.invented = m, e, foreign
		}
		return
	}
	ways := []func(*sentLine) bool{
		func(p *sentLine) bool { return usable && p.id.IsPresent() && p.id.Same(m.ID) },
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
