package fuzz

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Outcome is what came of a script.
type Outcome struct {
	Script    generate.Script
	Transport spec.Transport
	// Talks are the conversations, in the order in which they began.
	Talks []*Talk
	// Requests is how many requests were made, fences included, and Messages how
	// many frames went in both directions.
	Requests, Messages int
	// Refused is why no server could be had, nil otherwise.
	Refused error
	// Skipped are the operations that were not carried out.
	Skipped []int
}

// Talk is one conversation that has ended.
type Talk struct {
	On     int
	Server client.Server
	Events []*transcript.Event
	Walks  []Walked
	// Deaf: a fence was not answered in time.
	Deaf bool
	// Unanswered is the first request without an answer, "" for none. What the
	// script cancels itself is none of them.
	Unanswered string

	hurried bool           // an answer was not waited for as long as it may take
	asked   map[string]int // by the key of its id, the operation that made a request
	spans   []span
}

// span is where in the record an operation stands.
type span struct{ operation, from, to int }

// Walked is a list that was walked through.
type Walked struct {
	Operation int
	Method    string
	From, To  int      // where in the record
	Pages     [][]byte // the results
	Whole     bool     // the walk came to the end
}

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
	r := &holder{Holding: h, ctx: ctx, out: &Outcome{Script: s, Transport: h.Dialer.Transport()}, talks: map[int]*talk{}}
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
	if t == nil || t.over && o.Do != generate.Close || r.forbids(o) {
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

// send takes one message; it is written with those that wait, unless it waits
// itself.
func (r *holder) send(t *talk, i int, o *generate.Operation) {
	frame, ok := r.filled(t, o)
	if !ok {
		r.out.Skipped = append(r.out.Skipped, i)
		return
	}
	for _, m := range wire.Parse(frame).Messages {
		switch {
		case m.Kind == wire.Request && m.ID.Present():
			r.count()
			t.asked[m.ID.Key()] = i
			t.asks = append(t.asks, asked{
				id: m.ID, method: m.Method, params: o.Violates != "", task: wire.At(m.Params(), "/task") != nil,
			})
		case m.Method == spec.MethodCancelled:
			t.cancelled(wire.RawID(string(wire.At(m.Params(), "/requestId"))))
		}
	}
	if len(t.held) == 0 {
		t.heldFrom = i
	}
	t.held = append(t.held, frame)
	if o.Together && !o.Await && len(t.held) < 32 {
		return
	}
	r.flush(t)
	if o.Await && len(t.asks) > 0 && !t.over {
		r.await(t, t.asks[len(t.asks)-1])
	}
}

// filled returns the message with what it takes from earlier answers; false
// where there is no such thing.
func (r *holder) filled(t *talk, o *generate.Operation) ([]byte, bool) {
	frame := []byte(o.Message)
	for _, take := range o.Take {
		r.flush(t)
		id := wire.RawID(string(take.ID))
		for _, a := range t.asks {
			if a.id.Same(id) {
				r.await(t, a)
			}
		}
		m := t.answered[id.Key()]
		if m == nil {
			return nil, false
		}
		value := wire.At(m.Raw, take.From)
		if value == nil {
			return nil, false
		}
		frame = putParam(frame, take.Into, value)
	}
	return frame, true
}

// putParam replaces a member of the params, or adds it.
func putParam(frame []byte, name string, value []byte) []byte {
	names, members := wire.Members(frame)
	inside, params := wire.Members(members["params"])
	if params == nil {
		params = map[string]jsonValue{}
	}
	if _, there := params[name]; !there {
		inside = append(inside, name)
	}
	params[name] = value
	if members["params"] == nil {
		names = append(names, "params")
	}
	members["params"] = wire.Object(inside, params)
	return wire.Object(names, members)
}

// flush writes the frames that wait.
func (r *holder) flush(t *talk) {
	if len(t.held) == 0 {
		return
	}
	frames, first := t.held, t.heldFrom
	t.held = nil
	from := t.c.Record.Len()
	ctx, cancel := context.WithTimeout(r.ctx, r.Timeout)
	defer cancel()
	if err := t.c.Send(ctx, frames...); err != nil {
		t.over = true
		t.torn = t.torn || t.c.Alive()
	}
	t.spans = append(t.spans, span{first, from, t.c.Record.Len()})
}

func (r *holder) raw(t *talk, i int, o *generate.Operation) {
	var chunks [][]byte
	at := 0
	for _, split := range o.Splits {
		if split > at && split < len(o.Message) {
			chunks = append(chunks, o.Message[at:split])
			at = split
		}
	}
	chunks = append(chunks, o.Message[at:])
	if o.Violates == "" { // what is whole is owed an answer
		for _, m := range wire.Parse(o.Message).Messages {
			if m.Kind == wire.Request {
				t.asked[m.ID.Key()] = i
				t.asks = append(t.asks, asked{id: m.ID, method: m.Method})
			}
		}
	}
	r.count()
	release := t.c.HoldReplies()
	defer release()
	ctx, cancel := context.WithTimeout(r.ctx, r.Timeout)
	defer cancel()
	if err := t.c.SendBytes(ctx, chunks...); err != nil && t.c.Web() == nil {
		t.over = true
		t.torn = t.torn || t.c.Alive()
	}
}

// fence waits until the server has read everything.
func (r *holder) fence(t *talk) {
	r.count()
	if err := t.c.Fence(r.ctx); err != nil {
		t.over = true
		t.Deaf = t.Deaf || errors.Is(err, client.ErrUnanswered)
	}
}

// walk goes through a list.
func (r *holder) walk(t *talk, i int, o *generate.Operation) {
	w := Walked{Operation: i, Method: o.Method, From: t.c.Record.Len()}
	seen := map[string]bool{}
	var params map[string]any
	for range mostPages {
		r.count()
		reply := t.c.Ask(r.ctx, o.Method, params)
		if !reply.Succeeded() {
			t.missed = t.missed || errors.Is(reply.Err, client.ErrUnanswered)
			break
		}
		result := reply.Message.Result()
		w.Pages = append(w.Pages, result)
		cursor, more := wire.Text(wire.At(result, "/nextCursor"))
		if !more {
			w.Whole = true
			break
		}
		if cursor == "" || seen[cursor] {
			break
		}
		seen[cursor] = true
		params = map[string]any{"cursor": cursor}
	}
	w.To = t.c.Record.Len()
	t.Walks = append(t.Walks, w)
}

// replying returns how a request of the server is answered; nil leaves that to
// the client's capabilities.
func replying(reply *generate.Reply) func(m *wire.Message) []byte {
	return func(m *wire.Message) []byte {
		switch {
		case reply == nil:
			return nil
		case reply.Code != 0:
			return wire.NewError(m.ID, reply.Code, "mcp-conform will not", nil)
		case reply.Result == nil:
			return nil
		default:
			return wire.NewResult(m.ID, jsonValue(reply.Result))
		}
	}
}

// exchange holds an exchange of HTTP.
func (r *holder) exchange(t *talk, o *generate.Operation) {
	web := t.c.Web()
	if web == nil || o.Exchange == nil {
		return
	}
	r.count()
	x, err := web.Begin(transport.Request{Method: o.Exchange.Method, Fields: headers(web, o.Exchange), Body: o.Exchange.Body}, "")
	if err != nil {
		return
	}
	defer x.Drop()
	ctx, cancel := context.WithTimeout(r.ctx, min(webTime, r.Timeout))
	defer cancel()
	if o.Exchange.Method == "GET" || o.Exchange.Method == "HEAD" {
		select {
		case <-x.Responded():
			// What a stream that is opened so brings is nobody's answer, and it
			// has no end.
			ctx, cancel = context.WithTimeout(ctx, authorTime)
			defer cancel()
		case <-ctx.Done():
		}
	}
	select {
	case <-x.Over():
	case <-ctx.Done():
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
	if !t.over && t.c.Alive() && r.ctx.Err() == nil {
		r.settle(t)
	}
	t.read(t.c.Record.From(t.at))
	if open := t.unsettled(); len(open) > 0 {
		t.Unanswered = open[0].named()
	}
	t.c.Close()
	r.out.Messages += frames(t.c.Record.From(0))
	if !t.torn { // what follows from half a line is nobody's fault
		t.Events = t.c.Record.From(0)
	}
	r.out.Talks = append(r.out.Talks, t.Talk)
}

// settle brings to an end what was begun.
func (r *holder) settle(t *talk) {
	t.read(t.c.Record.From(t.at))
	r.wait(t)
	for _, a := range t.asks {
		if t.answered[a.id.Key()] == nil && !generate.Owed(a.method) && !a.cancelled && !a.task {
			_ = t.c.Cancel(r.ctx, a.id, "the client leaves")
			if r.Leaves {
				t.cancelled(a.id)
			}
		}
	}
	r.count()
	if reply := t.c.Ask(r.ctx, t.c.Harmless(), nil); errors.Is(reply.Err, client.ErrUnanswered) {
		t.Deaf = true
	}
	var open []asked
	if t.until(r.ctx, r.Timeout, func() bool { open = t.open(); return len(open) == 0 }) || !t.c.Alive() || r.ctx.Err() != nil {
		return
	}
	for _, a := range open {
		if seq, ok := t.sent(a.id); ok {
			t.c.Record.Add(transcript.Event{Kind: transcript.GaveUp, Of: seq})
		}
	}
}
