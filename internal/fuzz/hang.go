package fuzz

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A server that does one thing after the other answers nothing behind a request
// that it never comes to the end of. That is one fault, and it is the first of
// these requests that shows it: what lies behind had no chance. What the answer
// is made by does not matter there, for no code of an author's excuses that a
// ping has no answer either. A call does; see occupied.go.

const (
	// silence is how long nothing is answered behind a request that was waited for
	// in vain before no more is sent.
	silence = time.Second
	// afterHang is how long a server that answers nothing has to end by itself.
	afterHang = 100 * time.Millisecond
)

// stuck returns the first request that is owed an answer where it has none, nor
// anything behind it; nil where there is none, and where a call may be what
// holds all up.
func (t *talk) stuck() *asked {
	var first *asked
	for i := t.silentFrom(); i < len(t.asks); i++ {
		a := &t.asks[i]
		switch owed := generate.Owed(a.method) && !a.params; {
		case occupies(a.method):
			return nil
		case a.cancelled || a.odd:
		case owed && first != nil:
			return first // nothing that comes behind held this one up
		default:
			first = a
			if owed {
				return first
			}
		}
	}
	return first
}

// mute tells whether the server has answered nothing for so long that what would
// be sent now had no answer either.
func (r *holder) mute(t *talk) bool {
	if r.Patient || !t.missed {
		return false
	}
	t.read(t.c.Record.From(t.at))
	a, least := t.stuck(), r.explores(t)
	if r.known(t) {
		least += authorTime
	} else {
		least += min(r.Timeout, silence)
	}
	return a != nil && t.c.Record.Elapsed()-max(t.heard, a.at) >= least
}

// explores is how long an answer that is owed is waited for at its place: the
// whole time is given at the end, once. It is less behind a request of which it is
// known that it brings the server to a halt.
func (r *holder) explores(t *talk) time.Duration {
	if r.known(t) {
		return min(r.Timeout, r.Brief)
	}
	return min(r.Timeout, exploring)
}

// known tells whether the first request that has no answer is one that is known to
// bring the server to a halt.
func (r *holder) known(t *talk) bool {
	if r.Hangs == nil {
		return false
	}
	i := t.silentFrom()
	return i < len(t.asks) && r.Hangs(family(t.asks[i].method))
}

// silentFrom returns from where on no request has an answer.
func (t *talk) silentFrom() int {
	for i := len(t.asks); ; i-- {
		if i == 0 || t.answered[t.asks[i-1].id.Key()] != nil {
			return i
		}
	}
}

// leave cancels what is the author's own and has no answer, all but one request.
func (r *holder) leave(t *talk, but *asked) {
	for i := range t.asks {
		a := &t.asks[i]
		if a == but || t.answered[a.id.Key()] != nil || generate.Owed(a.method) || a.cancelled || a.task || a.left {
			continue
		}
		a.left = true
		_ = t.c.Cancel(r.ctx, a.id, "the client leaves")
		if r.Leaves {
			t.cancelled(a.id)
		}
	}
}

// halted tells whether nothing is answered any more behind a request. That is
// held against the server, once the request had as long as it may take: it is
// not cancelled by then, for who cancels a request is owed nothing.
func (r *holder) halted(t *talk, a *asked) bool {
	t.read(t.c.Record.From(t.at))
	seq, ok := t.sent(a.id)
	if !ok {
		return false
	}
	heard := t.heard
	moves := func() bool { return t.heard != heard || t.answered[a.id.Key()] != nil }
	if !t.Deaf && !r.mute(t) && !r.unheard(t) {
		return false
	}
	left := r.Timeout - (t.c.Record.Elapsed() - t.c.Record.From(seq)[0].At)
	if r.known(t) {
		left = 0 // it would tell nothing new
	}
	if t.until(r.ctx, max(left, min(r.Timeout, authorTime)), moves) || !t.c.Alive() || r.ctx.Err() != nil {
		return false
	}
	if !r.known(t) {
		t.Deaf = true
		r.giveUp(t, a)
	}
	return true
}

// unheard tells whether a ping has no answer either.
func (r *holder) unheard(t *talk) bool {
	r.count()
	var reply *client.Reply
	if r.known(t) {
		reply = t.c.TryFor(r.ctx, min(r.Timeout, r.Brief), t.c.Harmless(), nil)
	} else {
		reply = t.c.Ask(r.ctx, t.c.Harmless(), nil)
	}
	return errors.Is(reply.Err, client.ErrUnanswered)
}

// giveUp says in the record that an answer did not come.
func (r *holder) giveUp(t *talk, a *asked) {
	if seq, ok := t.sent(a.id); ok {
		t.c.Record.Add(transcript.Event{Kind: transcript.GaveUp, Of: seq})
	}
}

// close ends the connection. Who has come to a halt does not read that its input
// is closed either.
func (t *talk) close(halted bool) {
	if !halted {
		t.c.Close()
		return
	}
	t.c.Shutdown(transport.Patience{AfterClose: afterHang, AfterTerm: time.Second})
}

// attribute holds what was not answered against the first request of those that
// have no answer, where nothing behind it has one.
func (t *Talk) attribute() {
	if !slices.ContainsFunc(t.Events, func(e *transcript.Event) bool { return e.Kind == transcript.GaveUp }) {
		return
	}
	before, hung := hanging(t.Events)
	if hung == nil {
		return
	}
	call := occupying(t.Events)
	if call != nil && call.Seq <= hung.Seq {
		return
	}
	events, told := slices.Clone(t.Events), false
	for i, e := range events {
		switch {
		case e.Kind != transcript.GaveUp || e.Of < hung.Seq || call != nil && e.Of > call.Seq:
		case told:
			events[i] = &transcript.Event{Seq: e.Seq, At: e.At, Kind: transcript.Remark, Detail: "not waited for any longer, behind a request that is not answered"}
		default:
			told = true
			given := *e
			given.Of = hung.Seq
			events[i] = &given
		}
	}
	if told {
		t.Events, t.hung, t.before = events, hung, before
	}
}

// hanging returns the first request that is owed an answer and behind which,
// itself included, nothing has one; nil where there is none. What was cancelled is
// owed none, nor what shares its line or its id with others; if such a request lies
// before it, with no answer either, that is returned, too.
func hanging(events []*transcript.Event) (before *wire.Message, hung *transcript.Event) {
	type request struct {
		at   *transcript.Event
		m    *wire.Message
		owed bool
	}
	var open []request
	seen := map[string]bool{}
	for _, e := range events {
		for i := range e.Messages() {
			m := &e.Frame.Messages[i]
			key := m.ID.Key()
			switch {
			case e.Kind == transcript.Sent && m.Kind == wire.Request:
				open = append(open, request{e, m, !seen[key] && (m.ID.IsString() || m.ID.IsInteger()) && !e.Frame.Batch})
				seen[key] = true
			case e.Kind == transcript.Sent && m.Method == spec.MethodCancelled:
				for n := range open {
					if open[n].m.ID.Same(wire.IDAt(m.Params(), "/requestId")) {
						open[n].owed = false
					}
				}
			case e.Kind == transcript.Received && m.Kind == wire.Response:
				// What was asked before what is answered now was not held up.
				if n := slices.IndexFunc(open, func(r request) bool { return r.m.ID.Same(m.ID) }); n >= 0 {
					open = open[n+1:]
				}
			}
		}
	}
	for _, r := range open {
		switch {
		case r.owed:
			return before, r.at
		case before == nil:
			before = r.m
		}
	}
	return nil, nil
}

// hangs returns the operation with which a server came to a halt, where the
// sighting is that of such an end.
func (o *Outcome) hangs(s *Sighting) (operation int, ok bool) {
	if s.Talk >= len(o.Talks) {
		return 0, false
	}
	t := o.Talks[s.Talk]
	if t.hung == nil || len(s.At) != 1 || s.At[0] != t.hung.Seq {
		return 0, false
	}
	shown := o.evidence(s.Breach)
	if len(shown) == 0 {
		return 0, false // it was no operation that asked
	}
	return shown[len(shown)-1], true
}

// unrecalled returns a script without the cancellations of a request, nil where there
// are none.
func unrecalled(s generate.Script, on int, id wire.ID) *generate.Script {
	all := s.Operations
	s.Operations = slices.DeleteFunc(slices.Clone(all), func(o generate.Operation) bool {
		parsed := wire.Parse(o.Message).Messages
		return o.On == on && len(parsed) == 1 && parsed[0].Method == spec.MethodCancelled && id.Same(wire.IDAt(parsed[0].Params(), "/requestId"))
	})
	if len(s.Operations) == len(all) {
		return nil
	}
	return &s
}

// namesOther tells whether a sighting of a server that came to a halt names a request
// only because nothing is owed to the one before it, as that was cancelled: of that
// one it is known, or it shows where that is not cancelled, which is then looked
// into.
func (s *search) namesOther(ctx context.Context, c drawn, o *Outcome, sight *Sighting) bool {
	if _, ok := o.hangs(sight); !ok || o.Talks[sight.Talk].before == nil {
		return false
	}
	t := o.Talks[sight.Talk]
	method := family(t.before.Method)
	if s.hangs(method) || !s.claimable(sight) {
		return true
	}
	plain := unrecalled(o.Script, t.On, t.before.ID)
	if plain == nil {
		return false
	}
	c.script = *plain
	d, end := fresh(s.Dialer)
	defer end()
	s.alone.RLock()
	again := s.holding(d, c.place, exploring).Hold(ctx, c.script)
	s.alone.RUnlock()
	for _, other := range Judge(s.lawsOf(sight.Law), again) {
		if _, ok := again.hangs(&other); ok && other.Method == method {
			s.look(ctx, c, again)
			return true
		}
	}
	return false
}

// hangs tells whether requests of a method are known to bring the server to a
// halt, so that another one tells nothing new.
func (s *search) hangs(method string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.halting[method]
}

// halts takes note of whether requests of a method bring the server to a halt.
func (s *search) halts(method string, so bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.halting[method] = so
}

// cutBehind makes the script of a server that came to a halt as small as a few
// guesses make it, each with the request with which that came as its last one: what
// is behind it had no chance. It reports false where none of them shows the same.
func (s *search) cutBehind(ctx context.Context, f *Finding, last int, shows showing) bool {
	ctx, cancel := within(ctx, s.Shrink.Time, s.closing.small)
	defer cancel()
	all := f.Script.Operations[:last+1]
	one := func(*generate.Operation) bool { return false }
	subscribes := func(o *generate.Operation) bool {
		return o.Method == spec.MethodResourcesSubscribe || o.Method == spec.MethodResourcesUnsubscribe
	}
	levels := func(o *generate.Operation) bool { return o.Method == spec.MethodSetLevel }
	state := func(o *generate.Operation) bool { return o.Violates == "" && lasts(o) }
	every := func(*generate.Operation) bool { return true }
	for _, guess := range []struct {
		keep func(o *generate.Operation) bool
		as   func(o generate.Operation) generate.Operation
	}{{one, plain}, {subscribes, plain}, {levels, plain}, {state, plain}, {every, plain}, {state, same}, {every, same}} {
		script := generate.Script{Revision: f.Script.Revision}
		for i := range all {
			if i == last || all[i].On == all[last].On && guess.keep(&all[i]) {
				script.Operations = append(script.Operations, guess.as(all[i]))
			}
		}
		if shows(ctx, script, s.brief(), s.alone.RLocker()) != nil {
			f.Script = script
			return true
		}
	}
	return false
}

func same(o generate.Operation) generate.Operation { return o }

// plain returns an operation without the _meta of its message, which most often is
// the longest of what stands there, and by chance.
func plain(o generate.Operation) generate.Operation {
	f := wire.Parse(o.Message)
	if o.Do != generate.Send || o.Violates != "" || f.Batch || len(f.Messages) != 1 {
		return o
	}
	names, members := wire.Members([]byte(o.Message))
	inside, params := wire.Members(members["params"])
	if params["_meta"] == nil {
		return o
	}
	delete(params, "_meta")
	members["params"] = wire.Object(slices.DeleteFunc(inside, func(name string) bool { return name == "_meta" }), params)
	o.Message = generate.Bytes(wire.Object(names, members))
	return o
}

// brief is what is waited for where nothing is expected to come, and where that is
// made sure of with the whole time: as long as a whole round of asking the server
// for all lists took at first.
func (s *search) brief() time.Duration {
	return min(max(s.overhead, 500*time.Millisecond), s.shrinking())
}
