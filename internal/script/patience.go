package script

import (
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// awaitResponse waits for the response to request a before the script continues. It does not wait
// for the response to subscriptions/listen, which comes only when the subscription ends.
func (r *runner) awaitResponse(l *liveConversation, a request) {
	if a.method == spec.MethodListen {
		return
	}
	limit := r.waitLimit(l, a)
	if l.waitUntil(r.ctx, limit, func() bool { return l.responseTo(a.id) != nil || r.Patient && l.isSettled(a) }) {
		return
	}
	l.waitedBriefly = l.waitedBriefly || limit < r.Timeout
	l.timedOut = l.timedOut || (r.Patient || isProtocolDefined(a.method) && !a.invalidParams) && !a.cancelled
}

// waitLimit returns how long to wait for the response to request a before the script continues.
func (r *runner) waitLimit(l *liveConversation, a request) time.Duration {
	switch {
	case l.timedOut, r.Patient && r.isCancelledByScript(l, a):
		return min(r.Timeout, authorTime)
	case r.Patient:
		return r.Timeout
	case !isProtocolDefined(a.method), a.invalidParams:
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
		if o.Do == Cancel && a.id.Same(wire.RawID(string(o.Target))) {
			return true
		}
		for _, m := range wire.Parse(o.Message).Messages {
			if m.Method == spec.MethodCancelled && a.id.Same(m.ParamIDAt("/requestId")) {
				return true
			}
		}
	}
	return false
}

// waitPending waits for the responses to all pending requests, if the player is patient and does
// not cancel them.
func (r *runner) waitPending(l *liveConversation) {
	if !r.Patient || r.CancelsOpen {
		return
	}
	limit := r.Timeout
	if l.timedOut { // the whole timeout has already passed
		limit = min(limit, authorTime)
	}
	l.waitUntil(r.ctx, limit, func() bool { return len(l.unsettledRequests()) == 0 })
}

// isSettled reports whether there is nothing more to wait for: the response came, the request was
// cancelled, it expects no response, or its HTTP response shows that no JSON-RPC response will
// come.
func (l *liveConversation) isSettled(a request) bool {
	if l.responseTo(a.id) != nil || a.cancelled || a.method == spec.MethodListen || !a.id.IsString() && !a.id.IsInteger() {
		return true
	}
	if l.c.Web() == nil {
		return false
	}
	return slices.ContainsFunc(l.dialogue.RequestsWithID(a.id), func(r *transcript.Request) bool {
		x := r.Exchange
		return x != nil && x.End != nil && x.Refused() && !x.Intercepted()
	})
}

// unsettledRequests returns the sent requests for which isSettled is false.
func (l *liveConversation) unsettledRequests() []request {
	var out []request
	for _, a := range l.sentRequests {
		if !l.isSettled(a) {
			out = append(out, a)
		}
	}
	return out
}
