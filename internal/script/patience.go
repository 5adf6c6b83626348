package script

import (
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// await waits for one response.
func (r *runner) await(l *liveConversation, a request) {
	limit := r.patienceWith(l, a)
	if l.until(r.ctx, limit, func() bool { return l.response(a.id) != nil || r.Patient && l.settled(a) }) {
		return
	}
	l.waitedBriefly = l.waitedBriefly || limit < r.Timeout
	l.missed = l.missed || (r.Patient || isProtocolDefined(a.method) && !a.params) && !a.cancelled
}

// patienceWith returns the wait for one response before the script continues.
func (r *runner) patienceWith(l *liveConversation, a request) time.Duration {
	switch {
	case l.missed, r.Patient && r.isCancelledByScript(l, a):
		return min(r.Timeout, authorTime)
	case r.Patient:
		return r.Timeout
	case !isProtocolDefined(a.method), a.params:
		return min(r.Timeout, authorTime)
	default:
		return r.waitMidScript(l)
	}
}

// isCancelledByScript reports whether the script itself cancels the request.
func (r *runner) isCancelledByScript(l *liveConversation, a request) bool {
	for i := range r.out.Script.Operations {
		o := &r.out.Script.Operations[i]
		if o.On != l.On {
			continue
		}
		for _, m := range wire.Parse(o.Message).Messages {
			if m.Method == spec.MethodCancelled && a.id.Same(m.ParamIDAt("/requestId")) {
				return true
			}
		}
	}
	return false
}

// wait waits for all pending requests if the player is patient.
func (r *runner) wait(l *liveConversation) {
	if !r.Patient || r.CancelsOpen {
		return
	}
	limit := r.Timeout
	if l.missed { // the whole timeout has already passed
		limit = min(limit, authorTime)
	}
	l.until(r.ctx, limit, func() bool { return len(l.unsettled()) == 0 })
}

// settled reports whether there is nothing more to wait for: the response came,
// the request was cancelled, it expects no response, or the HTTP response shows
// that there will be none.
func (l *liveConversation) settled(a request) bool {
	if l.response(a.id) != nil || a.cancelled || !a.id.IsString() && !a.id.IsInteger() {
		return true
	}
	if l.c.Web() == nil {
		return false
	}
	return slices.ContainsFunc(l.dialogue.WithID(a.id), func(r *transcript.Request) bool {
		x := r.Exchange
		return x != nil && x.End != nil && x.Refused() && !x.Intercepted()
	})
}

// unsettled returns the requests that are still waited for.
func (l *liveConversation) unsettled() []request {
	var out []request
	for _, a := range l.asked {
		if !l.settled(a) {
			out = append(out, a)
		}
	}
	return out
}
