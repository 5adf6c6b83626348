package rules

import (
	"fmt"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	pingResponds   = "ping.responds"
	pingEmpty      = "ping.empty-result"
	pingEarly      = "ping.before-initialized"
	pingNotTooMany = "ping.not-excessive"
)

func pingRules() []Rule {
	return []Rule{
		{
			ID:           "rule.ping-answered",
			Title:        "pings are answered with an empty result",
			Requirements: []string{pingResponds, pingEmpty, pingEarly},
			Start:        WithoutState(Fold{AtEnd: judgePings}),
		},
		{
			ID:           "rule.ping-not-excessive",
			Title:        "the server does not ping excessively",
			Requirements: []string{pingNotTooMany},
			Start: func() Fold {
				run := &pingRun{}
				return Fold{OnEvent: run.observe}
			},
		},
	}
}

// lacksPing reports whether the server seems not to support ping at all: it has answered no ping,
// left no other request without a response, and not ended while a request was pending.
func lacksPing(s *Session) bool {
	for _, req := range s.ClientRequests() {
		switch {
		case isPing(req) && (len(req.Responses) > 0 || req.misidentified != nil):
			return false
		case !isPing(req) && isSilent(s, req), req.overdue != nil && req.overdue.Kind == transcript.OutputClosed:
			return false
		}
	}
	return true
}

func judgePings(s *Session, out *Reporter) {
	s.unmatched.attributeAll()
	lacks := lacksPing(s)
	for _, req := range s.ClientRequests() {
		if !isPing(req) || !req.due {
			continue
		}
		if len(req.Responses) > 0 {
			judgePingResponse(s, req, out)
		} else if isSilent(s, req) && lacks {
			out.Report(verdict.Deviation{
				Requirement: pingRequirement(req),
				Summary:     "The server does not answer " + describePing(req) + ".",
				Permitted:   "a result",
				Seen:        "no answer to the ping with id " + excerpt(req.Message.ID.Raw()),
				At:          positionsOf(req.Event),
			})
		}
	}
}

// pingRequirement returns the requirement by which the response to the ping is judged.
func pingRequirement(req *Request) string {
	if req.beforeInitialized {
		return pingEarly
	}
	return pingResponds
}

// describePing names the ping in the words of a summary.
func describePing(req *Request) string {
	if req.beforeInitialized {
		return "a ping before the initialized notification"
	}
	return "a ping"
}

func judgePingResponse(s *Session, req *Request, out *Reporter) {
	m := req.Responses[0].Message
	deviates := func(requirement, summary, permitted string) {
		out.Report(verdict.Deviation{Requirement: requirement, Summary: summary, Permitted: permitted, Seen: excerpt(m.Raw), At: positionsOf(req.Event, req.Responses[0].Event)})
	}
	switch {
	case m.Has("result") == hasError(m) || m.Has("result") && m.IsError(), req.IsOverloaded():
		return // not a usable response
	case m.IsError() && req.IsCancelled():
		return // the cancellation may be the reason
	case m.IsError() && !blamesRequest(m) && servedEqualPing(s, req):
		out.MarkReportedElsewhere(pingRequirement(req)) // the error may report overload in words that are not recognized
		return
	case m.IsError():
		deviates(pingRequirement(req), "The server answers "+describePing(req)+" with an error.", "a result")
		return
	}
	out.MarkObserved(pingRequirement(req))
	if m.Result().Kind() != '{' {
		return
	}
	names, _ := wire.Members(m.Result())
	for _, name := range names {
		if name != "_meta" {
			deviates(pingEmpty, "The server's ping result is not empty.", "{}, or an object with only _meta")
			return
		}
	}
	out.MarkObserved(pingEmpty)
}

// blamesRequest reports whether an error code blames the request, not the state of the server.
func blamesRequest(m *wire.Message) bool {
	code, ok := m.ErrorCode()
	return ok && code <= int64(spec.CodeInvalidRequest) && code >= int64(spec.CodeInvalidParams)
}

// servedEqualPing reports whether a ping like req got a result: a ping with the same params and an
// id of the same type, sent in the same phase of the handshake.
func servedEqualPing(s *Session, req *Request) bool {
	for _, o := range s.ClientRequests() {
		if isPing(o) && o.Succeeded() && pingRequirement(o) == pingRequirement(req) && o.Message.ID.IsString() == req.Message.ID.IsString() && string(o.Message.Params()) == string(req.Message.Params()) {
			return true
		}
	}
	return false
}

// More than one ping a second, over three seconds in which nothing else happens, is excessive.
const (
	manyPings  = 4
	pingWindow = 3 * time.Second
)

// pingRun tracks the pings that come while the conversation is idle.
type pingRun struct{ pings []*transcript.Event }

func (r *pingRun) observe(s *Session, e *transcript.Event, out *Reporter) {
	if e.Kind == transcript.Sent {
		for i := range e.Messages() {
			if e.Messages()[i].Kind != wire.Response {
				r.pings = nil
			}
		}
		return
	}
	for _, m := range receivedMessages(s, e) {
		if m.Method != spec.MethodPing || !asksClient(m) || s.isBusy() {
			continue
		}
		r.pings = append(r.pings, e)
		n := len(r.pings)
		if n < 2 {
			continue
		}
		if n < manyPings || e.At-r.pings[n-manyPings].At >= pingWindow {
			out.MarkObserved(pingNotTooMany)
			continue
		}
		out.Report(verdict.Deviation{
			Requirement: pingNotTooMany,
			Summary:     "The server pings more than once a second.",
			Permitted:   "an occasional ping",
			Seen:        fmt.Sprintf("%d pings in %v while nothing else was going on", manyPings, (e.At - r.pings[n-manyPings].At).Round(time.Millisecond)),
			At:          positionsOf(r.pings[n-manyPings:]...),
		})
	}
}
