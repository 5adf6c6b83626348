package fuzz

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/script"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// hungOperation returns the index of the operation after which the server hung. ok is false if the
// candidate is not about a hung server, or if no operation sent the request that hung it.
func (x *Execution) hungOperation(c *Candidate) (operation int, ok bool) {
	if c.Conversation >= len(x.Conversations) {
		return 0, false
	}
	conv := x.Conversations[c.Conversation]
	if conv.Hung == nil || len(c.At) != 1 || c.At[0] != conv.Hung.Seq {
		return 0, false
	}
	shown := x.evidenceOperations(c.Breach)
	if len(shown) == 0 {
		return 0, false // no operation sent the pending request
	}
	return shown[len(shown)-1], true
}

// withoutCancellations returns the script without the notifications that cancel the request with
// the given id in one conversation, or nil if there are none. on is the number of the conversation.
func withoutCancellations(s script.Script, on int, id wire.ID) *script.Script {
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

// blamesWrongRequest reports whether a candidate about a hung server blames the wrong request: one
// that came after the request that hung the server. The earlier request was cancelled, so it
// expected no response. It is to blame if its method is known to hang the server, or if the server
// also hangs when the script is played without the cancellation. In the second case,
// blamesWrongRequest evaluates that playback. blamesWrongRequest also returns true if the candidate
// can no longer be claimed.
func (s *search) blamesWrongRequest(ctx context.Context, in input, x *Execution, c *Candidate) bool {
	if _, ok := x.hungOperation(c); !ok || x.Conversations[c.Conversation].Before == nil {
		return false
	}
	conv := x.Conversations[c.Conversation]
	method := methodGroup(conv.Before.Method)
	if s.hangs.isKnown(method) || !s.claims.isClaimable(c.Key()) {
		return true
	}
	uncancelled := withoutCancellations(x.Script, conv.On, conv.Before.ID)
	if uncancelled == nil {
		return false
	}
	in.script = *uncancelled
	s.exclusive.RLock()
	again := s.executor.playFresh(ctx, in.server, in.script, searchTimeout)
	s.exclusive.RUnlock()
	for _, other := range s.judge.candidates(lawsByID(s.Laws, c.Law), again) {
		if _, ok := again.hungOperation(&other); ok && other.Method == method {
			s.evaluate(ctx, in, again)
			return true
		}
	}
	return false
}

// hangs are the methods whose requests hang the server.
type hangs struct {
	mu      sync.Mutex
	methods map[string]bool
}

// isKnown reports whether requests of a method are known to hang the server. Another request of
// that method then shows nothing new.
func (h *hangs) isKnown(method string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.methods[method]
}

// record records whether requests of a method hang the server.
func (h *hangs) record(method string, hangs bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.methods[method] = hangs
}

// shrinkHang shrinks the script of a hung server by trying a few smaller scripts. Each of them ends
// with the operation with index last, which hung the server, because the server could not respond
// to later ones. It returns false if none of them shows the same finding.
func (s *search) shrinkHang(ctx context.Context, f *Finding, last int, reproduce reproducer) bool {
	ctx, cancel := withLimit(ctx, s.Shrink.Time, s.deadlines.shrink)
	defer cancel()
	all := f.Script.Operations[:last+1]
	none := func(*script.Operation) bool { return false }
	subscribes := func(o *script.Operation) bool {
		return o.Method == spec.MethodResourcesSubscribe || o.Method == spec.MethodResourcesUnsubscribe
	}
	levels := func(o *script.Operation) bool { return o.Method == spec.MethodSetLevel }
	state := func(o *script.Operation) bool { return o.Violates == "" && changesState(o) }
	every := func(*script.Operation) bool { return true }
	for _, guess := range []struct {
		keep   func(o *script.Operation) bool
		change func(o script.Operation) script.Operation
	}{{none, withoutMeta}, {subscribes, withoutMeta}, {levels, withoutMeta}, {state, withoutMeta}, {every, withoutMeta}, {state, keepUnchanged}, {every, keepUnchanged}} {
		smaller := script.Script{Revision: f.Script.Revision}
		for i := range all {
			if i == last || all[i].On == all[last].On && guess.keep(&all[i]) {
				smaller.Operations = append(smaller.Operations, guess.change(all[i]))
			}
		}
		if reproduce(ctx, smaller, s.hangTimeout(), s.exclusive.RLocker()) == shown {
			f.Script = smaller
			return true
		}
	}
	return false
}

func keepUnchanged(o script.Operation) script.Operation { return o }

// withoutMeta returns the operation without the _meta of its message. The _meta is random, and
// often the longest part of the message.
func withoutMeta(o script.Operation) script.Operation {
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

// hangTimeout returns the wait for a response that probably will not come: search.overhead, but at
// least 500 ms and at most shrinkTimeout. The final retries confirm the hang with the whole
// timeout.
func (s *search) hangTimeout() time.Duration {
	return min(max(s.overhead, 500*time.Millisecond), s.shrinkTimeout())
}
