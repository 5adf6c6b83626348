package fuzz

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Holding says how scripts are held.
type Holding struct {
	Dialer transport.Dialer
	// Timeout bounds the wait for an answer that is owed.
	Timeout time.Duration
	// Start bounds the wait for the answer to initialize.
	Start time.Duration
	// Pace, where it is set, is asked before each request; it waits until one
	// more may be made.
	Pace func(ctx context.Context)
	// Held, where it is set, is told of each outcome.
	Held func(o *Outcome)
	// Enough, where it is set, is closed when no more operations shall begin: what
	// was begun is brought to its end, so that it can be judged.
	Enough <-chan struct{}
	// Patient: what is the author's own (tool calls and the like) is waited for as
	// long as all else, where it stands in the script and at its end.
	Patient bool
	// Leaves: what is open at the end is cancelled all the same.
	Leaves bool
	// Notices: the server is given the time to tell of changes before the end.
	Notices bool
	// Offer is what the server has, for laws that hold answers against it.
	Offer *generate.Offer
	// Hangs, where it is set, tells of which methods a request is known to bring
	// the server to a halt; behind such a one an answer is waited for no longer
	// than Brief.
	Hangs func(method string) bool
	Brief time.Duration
	// Forbidden are the tools that the server has and that must not be called:
	// what calls one is left out, wherever it comes from.
	Forbidden map[string]bool
}

// The bounds of what may take as long as it likes.
const (
	authorTime = 100 * time.Millisecond // for tools and the like
	webTime    = 2 * time.Second        // for an exchange of its own
	mostPages  = 100
)

// Hold carries out a script, and returns when all of its conversations are
// over and the servers that were started for them are gone.
func (h Holding) Hold(ctx context.Context, s generate.Script) *Outcome {
	r := &holder{Holding: h, ctx: ctx, out: &Outcome{Script: s, Transport: h.Dialer.Transport(), Offer: h.Offer}, talks: map[int]*talk{}}
	for i := range s.Operations {
		if ctx.Err() != nil || r.out.Refused != nil || r.enough() {
			r.out.Skipped = append(r.out.Skipped, i)
			continue
		}
		r.do(i, &s.Operations[i])
	}
	for on := range s.Conversations() {
		r.end(on)
	}
	if h.Held != nil {
		h.Held(r.out)
	}
	return r.out
}

// enough tells whether no more operations shall begin.
func (h *Holding) enough() bool {
	select {
	case <-h.Enough:
		return true
	default:
		return false
	}
}

// holder holds one script.
type holder struct {
	Holding
	ctx   context.Context
	out   *Outcome
	talks map[int]*talk
}

func (r *holder) do(i int, o *generate.Operation) {
	t := r.talk(o.On)
	if t == nil || o.Do != generate.Close && (t.over || r.mute(t)) || r.forbids(o) {
		r.out.Skipped = append(r.out.Skipped, i)
		return
	}
	if o.Do != generate.Send {
		r.flush(t)
	}
	from := t.c.Record.Len()
	switch o.Do {
	case generate.Send:
		r.send(t, i, o)
		return
	case generate.Raw:
		r.raw(t, i, o)
	case generate.Answer:
		t.answers.Set(o.Method, replying(o.Reply))
	case generate.Walk:
		r.walk(t, i, o)
	case generate.Fence:
		r.fence(t)
	case generate.Close:
		r.end(o.On)
		return
	case generate.HTTP:
		r.exchange(t, o)
	case generate.Repeat:
		r.repeat(t, i, o)
	}
	t.spans = append(t.spans, span{i, from, t.c.Record.Len()})
}

// talk returns the conversation, which it opens where there is none; nil where
// that can't be done.
func (r *holder) talk(on int) *talk {
	if t := r.talks[on]; t != nil {
		return t
	}
	o := client.Options{Revision: r.out.Script.Revision, Timeout: r.Timeout, StartTimeout: r.Start}
	answers := client.NewAnswers(client.AllCapabilities(o.Revision))
	o.Answer = answers.Answer
	c, err := client.Open(r.ctx, r.Dialer, o)
	if err != nil {
		r.out.Refused = err
		return nil
	}
	t := &talk{
		Talk: &Talk{On: on, asked: map[string]int{}}, c: c, answers: answers, answered: map[string]*wire.Message{}, heldFrom: -1,
	}
	r.talks[on] = t
	r.count()
	if err := c.Handshake(r.ctx); err != nil {
		t.over = true
		if !c.Alive() || errors.Is(err, client.ErrUnanswered) {
			r.out.Refused = err
		}
	}
	t.Server = c.Server()
	return t
}

func (r *holder) count() {
	r.out.Requests++
	if r.Pace != nil {
		r.Pace(r.ctx)
	}
}

// end ends a conversation: what is the author's own is cancelled, what is owed
// is waited for.
func (r *holder) end(on int) {
	t := r.talks[on]
	if t == nil {
		return
	}
	delete(r.talks, on)
	r.flush(t)
	halted := false
	if (!t.over || t.Deaf) && t.c.Alive() && r.ctx.Err() == nil {
		halted = r.settle(t)
	}
	t.read(t.c.Record.From(t.at))
	if open := t.unsettled(); len(open) > 0 {
		t.Unanswered = open[0].named()
	}
	t.close(halted)
	r.out.Messages += frames(t.c.Record.From(0))
	if !t.torn { // what follows from half a line is nobody's fault
		t.Events = t.c.Record.From(0)
		t.attribute()
		t.excuse()
	}
	r.out.Talks = append(r.out.Talks, t.Talk)
}

// settle brings to an end what was begun, and tells whether the server has come to
// a halt.
func (r *holder) settle(t *talk) (halted bool) {
	t.read(t.c.Record.From(t.at))
	if !t.over {
		r.wait(t)
	}
	if stuck := t.stuck(); stuck != nil && !r.Leaves {
		r.leave(t, stuck)
		if r.halted(t, stuck) {
			return true
		}
	}
	if t.over {
		return false
	}
	r.leave(t, nil)
	r.notice(t)
	r.count()
	if reply := t.c.Ask(r.ctx, t.c.Harmless(), nil); errors.Is(reply.Err, client.ErrUnanswered) {
		t.Deaf = true
	}
	var open []asked
	if t.until(r.ctx, r.Timeout, func() bool { open = t.open(); return len(open) == 0 }) || !t.c.Alive() || r.ctx.Err() != nil {
		return false
	}
	for _, a := range open {
		r.giveUp(t, &a)
	}
	return false
}
