package fuzz

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// await waits for one answer.
func (r *holder) await(t *talk, a asked) {
	limit := r.patienceWith(t, a)
	if t.until(r.ctx, limit, func() bool { return t.answered[a.id.Key()] != nil || r.Patient && t.settled(a) }) {
		return
	}
	t.hurried = t.hurried || limit < r.Timeout
	t.missed = t.missed || (r.Patient || generate.Owed(a.method) && !a.params) && !a.cancelled
}

// patienceWith is how long one answer is waited for at its place.
func (r *holder) patienceWith(t *talk, a asked) time.Duration {
	switch {
	case t.missed, r.Patient && r.recalled(t, a):
		return min(r.Timeout, authorTime)
	case r.Patient:
		return r.Timeout
	case !generate.Owed(a.method), a.params:
		return min(r.Timeout, authorTime)
	default:
		return r.explores(t)
	}
}

// recalled tells whether the script itself cancels the request.
func (r *holder) recalled(t *talk, a asked) bool {
	for i := range r.out.Script.Operations {
		o := &r.out.Script.Operations[i]
		if o.On != t.On {
			continue
		}
		for _, m := range wire.Parse(o.Message).Messages {
			if m.Method == spec.MethodCancelled && a.id.Same(wire.IDAt(m.Params(), "/requestId")) {
				return true
			}
		}
	}
	return false
}

// wait gives all that was asked its time, where that is wanted.
func (r *holder) wait(t *talk) {
	if !r.Patient || r.Leaves {
		return
	}
	limit := r.Timeout
	if t.missed { // that time is over
		limit = min(limit, authorTime)
	}
	t.until(r.ctx, limit, func() bool { return len(t.unsettled()) == 0 })
}

// settled tells whether nothing more is to be waited for: the answer is there,
// was given up by the script, is owed to nobody, or HTTP says in its stead that
// there is none.
func (t *talk) settled(a asked) bool {
	if t.answered[a.id.Key()] != nil || a.cancelled || !a.id.IsString() && !a.id.IsInteger() {
		return true
	}
	if t.c.Web() == nil {
		return false
	}
	for _, x := range transcript.ExchangesOf(t.c.Record.From(0)).All() {
		if x.Sent == nil || x.End == nil || !x.Refused() || x.Intercepted() {
			continue
		}
		for i := range x.Sent.Messages() {
			if m := &x.Sent.Frame.Messages[i]; m.Kind == wire.Request && m.ID.Same(a.id) {
				return true
			}
		}
	}
	return false
}

// unsettled returns the requests that are still to be waited for.
func (t *talk) unsettled() []asked {
	var out []asked
	for _, a := range t.asks {
		if !t.settled(a) {
			out = append(out, a)
		}
	}
	return out
}

// missing says which request of an outcome has no answer, "" for none.
func (o *Outcome) missing() string {
	for _, t := range o.Talks {
		if t.Unanswered != "" {
			return t.Unanswered
		}
	}
	return ""
}

// hurried tells whether an answer might have come if it had been waited for.
func (o *Outcome) hurried() bool {
	for _, t := range o.Talks {
		if t.hurried || t.Unanswered != "" {
			return true
		}
	}
	return false
}

// named says which request it is.
func (a *asked) named() string { return fmt.Sprintf("%s with id %s", a.method, a.id.Raw()) }

// patiently holds the script on a fresh server and waits for all that is asked
// for. Where the finding is about what is cancelled, what is open at the end is
// cancelled at once.
func (s *search) patiently(ctx context.Context, place *Surroundings, r *Replay) *Outcome {
	d, end := fresh(s.Dialer)
	defer end()
	h := s.holding(d, place, s.Timeout)
	h.Patient, h.Leaves = true, strings.HasPrefix(r.Expect.Requirement, "cancellation.")
	return h.Hold(ctx, r.Script)
}
