package fuzz

import (
	"context"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// hangs returns the operation that hung the server, if the candidate is about a
// hung server.
func (o *Outcome) hangs(s *Candidate) (operation int, ok bool) {
	if s.Conversation >= len(o.Conversations) {
		return 0, false
	}
	c := o.Conversations[s.Conversation]
	if c.Hung == nil || len(s.At) != 1 || s.At[0] != c.Hung.Seq {
		return 0, false
	}
	shown := o.evidence(s.Breach)
	if len(shown) == 0 {
		return 0, false // the pending request was not sent by an operation
	}
	return shown[len(shown)-1], true
}

// unrecalled returns a script without the cancellations of a request, or nil if
// the script has none.
func unrecalled(s script.Script, on int, id wire.ID) *script.Script {
	all := s.Operations
	s.Operations = slices.DeleteFunc(slices.Clone(all), func(o script.Operation) bool {
		parsed := wire.Parse(o.Message).Messages
		return o.On == on && len(parsed) == 1 && parsed[0].Method == spec.MethodCancelled && id.Same(parsed[0].ParamIDAt("/requestId"))
	})
	if len(s.Operations) == len(all) {
		return nil
	}
	return &s
}

// namesOther reports whether a candidate of a hung server names the wrong
// request: an earlier, cancelled request, which expects no response, hung the
// server. That request's method is known to hang the server, or the retry
// without the cancellation shows that it does.
func (s *search) namesOther(ctx context.Context, c drawn, o *Outcome, sight *Candidate) bool {
	if _, ok := o.hangs(sight); !ok || o.Conversations[sight.Conversation].Before == nil {
		return false
	}
	held := o.Conversations[sight.Conversation]
	method := family(held.Before.Method)
	if s.hangs(method) || !s.claimable(sight) {
		return true
	}
	plain := unrecalled(o.Script, held.On, held.Before.ID)
	if plain == nil {
		return false
	}
	c.script = *plain
	s.alone.RLock()
	again := s.playFresh(ctx, c.place, c.script, exploring)
	s.alone.RUnlock()
	for _, other := range s.judge(s.lawsOf(sight.Law), again) {
		if _, ok := again.hangs(&other); ok && other.Method == method {
			s.look(ctx, c, again)
			return true
		}
	}
	return false
}

// hangs reports whether requests of a method are known to hang the server, so
// that another such request shows nothing new.
func (s *search) hangs(method string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.halting[method]
}

// recordHang records whether requests of a method hang the server.
func (s *search) recordHang(method string, so bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.halting[method] = so
}

// cutBehind shrinks the script of a hung server with a few guesses. Each of them ends with the
// request that hung the server, because the server could not answer later ones. It returns false if
// no guess shows the same finding.
func (s *search) cutBehind(ctx context.Context, f *Finding, last int, shows showing) bool {
	ctx, cancel := within(ctx, s.Shrink.Time, s.closing.small)
	defer cancel()
	all := f.Script.Operations[:last+1]
	one := func(*script.Operation) bool { return false }
	subscribes := func(o *script.Operation) bool {
		return o.Method == spec.MethodResourcesSubscribe || o.Method == spec.MethodResourcesUnsubscribe
	}
	levels := func(o *script.Operation) bool { return o.Method == spec.MethodSetLevel }
	state := func(o *script.Operation) bool { return o.Violates == "" && lasts(o) }
	every := func(*script.Operation) bool { return true }
	for _, guess := range []struct {
		keep func(o *script.Operation) bool
		as   func(o script.Operation) script.Operation
	}{{one, plain}, {subscribes, plain}, {levels, plain}, {state, plain}, {every, plain}, {state, same}, {every, same}} {
		smaller := script.Script{Revision: f.Script.Revision}
		for i := range all {
			if i == last || all[i].On == all[last].On && guess.keep(&all[i]) {
				smaller.Operations = append(smaller.Operations, guess.as(all[i]))
			}
		}
		if shows(ctx, smaller, s.brief(), s.alone.RLocker()) != nil {
			f.Script = smaller
			return true
		}
	}
	return false
}

func same(o script.Operation) script.Operation { return o }

// plain returns an operation without the _meta of its message, which is random
// and often the longest part of it.
func plain(o script.Operation) script.Operation {
	f := wire.Parse(o.Message)
	if o.Do != script.Send || o.Violates != "" || f.Batch || len(f.Messages) != 1 {
		return o
	}
	names, members := wire.Members([]byte(o.Message))
	inside, params := wire.Members(members["params"])
	if params["_meta"] == nil {
		return o
	}
	delete(params, "_meta")
	members["params"] = wire.Object(slices.DeleteFunc(inside, func(name string) bool { return name == "_meta" }), params)
	o.Message = script.Bytes(wire.Object(names, members))
	return o
}

// brief returns the wait for a response that probably will not come: as long as
// a first walk through all lists took. The final retries confirm it with the
// whole timeout.
func (s *search) brief() time.Duration {
	return min(max(s.overhead, 500*time.Millisecond), s.shrinking())
}
