package streamablehttp

import (
	"cmp"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const (
	httpResponse = "base.http-response"
	httpServed   = "base.http-legal-request-served"
	pingResponds = "ping.responds"
	initResponse = "lifecycle.initialize-response"
)

func accountRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.http-account",
			Title:        "every HTTP request gets a complete response",
			Requirements: []string{httpResponse},
			Start:        judgeExchangesAtEnd(judgeResponses),
		},
		{
			ID:           "rule.http-legal-served",
			Title:        "a legal request is not refused by its status alone",
			Requirements: []string{httpServed},
			Start:        judgeExchangesAtEnd(judgeLegalRequests),
		},
		{
			ID:           "rule.http-plain-served",
			Title:        "initialize and ping are served, and not refused by their HTTP status",
			Requirements: []string{initResponse, pingResponds},
			Start:        judgeExchangesAtEnd(judgePlainRequests),
		},
	}
}

// factsOf returns the facts about an exchange that may have no response.
func (v *view) factsOf(x *exchange) discount.ExchangeFacts {
	f := discount.ExchangeFacts{
		Method: x.Method(), Status: x.Status(), Ended: x.HowEnded(), Partial: x.isPartial() || v.isUnfinished(x),
		Waited:      v.s.Waits.GaveUpOn(x.Request) || x.Sent != nil && v.s.Waits.GaveUpOn(x.Sent),
		ServerEnded: v.s.Signalled || v.s.InputClosed || v.s.OutputEnded || v.s.Exited != nil,
	}
	if x.Sent != nil {
		f.Size = x.Sent.Size
	}
	// A request that names a session known to be over tests how the server responds to that, so a
	// missing response counts. If a request was in progress when the session ended, its missing
	// response does not count.
	f.SessionOver = x.flaws&endedSession == 0 && x.Method() != "DELETE" && v.isSessionOver(x)
	f.AnsweredElsewhere = len(x.requests) > 0 && !slices.ContainsFunc(x.requests, func(req *rules.Request) bool { return len(req.Responses) == 0 })
	for _, req := range x.requests {
		f.Judged = f.Judged || req.Unanswered()
		f.Withdrawn = f.Withdrawn || req.IsCancelled() && !x.brokeBeforeCancellation(req)
	}
	return f
}

// brokeBeforeCancellation reports whether the connection of x broke before the client cancelled
// the request, so that the cancellation cannot be the reason.
func (x *exchange) brokeBeforeCancellation(req *rules.Request) bool {
	return x.HowEnded() == transcript.Broken && len(req.Cancellations) > 0 && x.End.Seq < req.Cancellations[0].Event.Seq
}

// isSessionOver reports whether the session of x got 404 at any time, or the client had sent a
// DELETE for it before x ended.
func (v *view) isSessionOver(x *exchange) bool {
	ending, ends := v.sessions.ending[x.session]
	_, gone := v.sessions.gone[x.session]
	return x.session != "" && (gone || ends && (x.End == nil || ending < x.End.Seq))
}

// isPartial reports whether the body of the response ended before its announced end, or could not
// be read. It returns false for event streams, which may break off at any time, and for exchanges
// with JSON-RPC requests, whose responses base.request-answered judges.
func (x *exchange) isPartial() bool {
	return x.Response != nil && len(x.requests) == 0 && x.ResponseHead().MediaType() != transcript.EventStream &&
		(x.HowEnded() == transcript.Broken || x.HowEnded() == transcript.Unreadable)
}

// isUnfinished reports whether the client waited until the timeout for the rest of a body whose
// length the response head announces. The client records such a timeout only if the server then
// responds to another request.
func (v *view) isUnfinished(x *exchange) bool {
	return x.Response != nil && x.ResponseHead().Has("Content-Length") && !x.IsStream() &&
		x.HowEnded() == transcript.Dropped && v.s.Waits.GaveUpOn(x.Request)
}

// isUnanswered reports whether x got no HTTP response and no discount applies.
func (v *view) isUnanswered(x *exchange) bool {
	return x.Response == nil && discount.ForExchange(v.factsOf(x)) == nil
}

func judgeResponses(v *view, out *rules.Reporter) {
	for _, x := range v.all {
		switch {
		case x.Response != nil && !x.isPartial() && !v.isUnfinished(x):
			out.MarkObserved(httpResponse)
		case discount.ForExchange(v.factsOf(x)) != nil: // a missing response does not count
		case v.isUnfinished(x):
			out.Report(verdict.Deviation{
				Requirement: httpResponse,
				Summary:     "The server sends less of a body than the response head announces.",
				Permitted:   "all bytes of the body, or another Content-Length",
				Seen:        x.Method() + ": " + x.ResponseHead().Line + "; Content-Length " + rules.Excerpt(x.ResponseHead().Get("Content-Length")) + ", and the rest did not come until the timeout",
				At:          positionsOf(x.Request, x.Sent, x.Response, x.End),
			})
		case x.isPartial():
			out.Report(verdict.Deviation{
				Requirement: httpResponse,
				Summary:     "The server cuts off the body of an HTTP response.",
				Permitted:   "all bytes of the body that the response head announces",
				Seen:        x.Method() + ": " + x.ResponseHead().Line + "; " + cmp.Or(rules.Excerpt(x.End.Detail), "the body broke off"),
				At:          positionsOf(x.Request, x.Sent, x.Response, x.End),
			})
		default:
			d := verdict.Deviation{
				Requirement: httpResponse,
				Permitted:   "an HTTP response; an error status to refuse the request",
				At:          positionsOf(x.Request, x.Sent, x.End),
			}
			switch x.HowEnded() {
			case transcript.Unreadable:
				d.Summary, d.Seen = "The server answers an HTTP request with something that is not HTTP.", x.Method()+": "+cmp.Or(rules.Excerpt(x.End.Detail), "a response that is not HTTP")
			case transcript.Broken:
				d.Summary, d.Seen = "The server closes the connection without an HTTP response.", x.Method()+": "+cmp.Or(rules.Excerpt(x.End.Detail), "the connection was closed")
			default:
				d.Summary, d.Seen = "The server does not answer an HTTP request.", x.Method()+" got no response until the timeout; then the client closed the connection"
			}
			out.Report(d)
		}
	}
}

// judgeLegalRequests judges valid requests that the server refuses by status without a JSON-RPC
// response, and any request with a 5xx status that is neither ambiguous nor 501. A refusal with a
// 4xx status is only a note, because such a status means that the server found a fault in the
// request.
func judgeLegalRequests(v *view, out *rules.Reporter) {
	for _, x := range v.all {
		if x.Response == nil || transcript.IsAmbiguousStatus(x.Status()) || x.hasErrorWithID() {
			continue
		}
		legal := x.isPost() && x.flaws == 0 && len(x.requests) == 1 && !x.Sent.Frame.Batch && !x.hasInitialize() &&
			!slices.ContainsFunc(x.requests, func(req *rules.Request) bool { return !req.IsRegular() }) && v.wasListening(x)
		d := verdict.Deviation{
			Requirement: httpServed,
			Summary:     "The server refuses a legal request by HTTP status alone.",
			Permitted:   "a result or a JSON-RPC error with the id of the request",
			Seen:        x.describeSeen(), At: x.positions(),
		}
		switch failed := x.Status() >= 500 && x.Status() != 501; {
		case legal && x.Succeeded():
			out.MarkObserved(httpServed)
		case legal && failed:
			d.Summary = "The server fails on a legal request, without a JSON-RPC response."
			out.Report(d)
		case failed && x.Method() == "DELETE" && x.flaws == 0 && x.session != "":
			d.Summary, d.Permitted = "The server fails on a DELETE with the id of an open session.", "a success status, or 405 where clients may not end sessions"
			out.Report(d)
		case failed:
			d.Weight, d.Summary = verdict.OnlyNote, "The server fails on a request that it may refuse."
			d.Permitted = "a success status, or one from 400 to 499 that names what is wrong with the request"
			out.Report(d)
		case legal && x.Refused() && !mayRefuseLegally(x.Status()):
			d.Weight = verdict.OnlyNote
			out.Report(d)
		}
	}
}

// judgePlainRequests judges the outcomes of ping and initialize, which every server has to serve
// and which contain nothing to refuse. If the body of an HTTP refusal is an error with the id of
// the request, that error is the response, which other rules judge, except for an error that calls
// a ping malformed.
func judgePlainRequests(v *view, out *rules.Reporter) {
	pinged := slices.ContainsFunc(v.s.ClientRequests(), func(req *rules.Request) bool { return req.Message.Method == spec.MethodPing && len(req.Responses) > 0 })
	for _, x := range v.all {
		if v.isPingCalledMalformed(x) {
			out.Report(verdict.Deviation{
				Requirement: pingResponds, Summary: "The server refuses a ping as malformed.",
				Permitted: "a result, as for the pings before and after it in the session", Seen: x.describeSeen(), At: x.positions(),
			})
			continue
		}
		if v.s.Transport != spec.StreamableHTTP || v.s.Era() != spec.Handshake || x.Response == nil ||
			!x.isPost() || x.flaws != 0 || len(x.requests) != 1 || x.Sent.Frame.Batch || x.hasErrorWithID() {
			continue
		}
		switch req := x.requests[0]; {
		case req.Succeeded() && req.Message.Method == spec.MethodPing && req.IsRegular():
			out.MarkObserved(pingResponds)
		case req.Succeeded() && req.IsValidInitialize():
			out.MarkObserved(initResponse)
		case req.Message.Method == spec.MethodPing && req.IsRegular() && !req.IsCancelled() && !pinged:
			x.judgeRefusedPing(out)
		case req.IsValidInitialize() && !x.RequestHead().Has(sessionHeader) && len(req.Responses) == 0:
			x.judgeFailedInitialize(out)
		}
	}
}

// isPingCalledMalformed reports whether the server calls a valid ping malformed, in an error with
// the id of the ping, although pings before and after it in the same session get results.
func (v *view) isPingCalledMalformed(x *exchange) bool {
	if v.s.Transport != spec.StreamableHTTP || v.s.Era() != spec.Handshake || x.Status() != 400 || !x.isPost() || x.flaws != 0 ||
		len(x.requests) != 1 || x.Sent.Frame.Batch || !x.hasErrorWithID() || x.session == "" {
		return false
	}
	req := x.requests[0]
	code := errorCode(x.errorIn())
	if req.Message.Method != spec.MethodPing || !req.IsRegular() || !req.HasSafeID() || req.IsCancelled() || code != spec.CodeParse && code != spec.CodeInvalidRequest {
		return false
	}
	before, after := false, false
	for _, y := range v.all {
		if y.session == x.session && len(y.requests) == 1 && y.requests[0].Message.Method == spec.MethodPing && y.requests[0].Succeeded() {
			before, after = before || y.Request.Seq < x.Request.Seq, after || y.Request.Seq > x.Request.Seq
		}
	}
	return before && after
}

// judgeRefusedPing judges a ping that was refused with 400 in a conversation in which no ping was
// served. An error that calls the ping malformed is wrong in any case. Any other refusal may have
// another reason, such as a session that belongs to another process.
func (x *exchange) judgeRefusedPing(out *rules.Reporter) {
	if x.Status() != 400 {
		return
	}
	d := verdict.Deviation{
		Requirement: pingResponds, Summary: "The server refuses a ping as malformed.",
		Permitted: "a result, in the response to the POST", Seen: x.describeSeen(), At: x.positions(),
	}
	if e := x.errorIn(); e == nil || errorCode(e) != spec.CodeParse && errorCode(e) != spec.CodeInvalidRequest {
		d.Summary, d.Weight = "The server refuses every ping by HTTP status.", verdict.AtMostWarning
	}
	out.Report(d)
}

// judgeFailedInitialize judges a failed initialize if the HTTP response shows that the receiver
// reads JSON-RPC or opens streams; any other refusal may come from something that is not an MCP
// server. "Invalid request" may mean that another client has the only session.
func (x *exchange) judgeFailedInitialize(out *rules.Reporter) {
	d := verdict.Deviation{Requirement: initResponse, Permitted: "a result, in the response to the POST", Seen: x.describeSeen(), At: x.positions()}
	e := x.errorIn()
	switch {
	case x.Status() == 400 && e != nil && errorCode(e) == spec.CodeParse:
		d.Summary = "The server refuses a valid initialize as unparsable."
	case x.Status() == 500 && e != nil:
		d.Summary = "The server fails on a valid initialize."
	case x.isStreamOpened() && x.HowEnded() == transcript.Complete && !x.mayBeResumed():
		d.Summary, d.At = "The server ends the stream of initialize without the response.", positionsOf(x.Request, x.Sent, x.Response, x.End)
	default:
		return
	}
	out.Report(d)
}

// mayBeResumed reports whether an event on the stream has an id, so that the client may resume
// the stream after it.
func (x *exchange) mayBeResumed() bool {
	return slices.ContainsFunc(x.Body, func(e *transcript.Event) bool {
		ev := e.StreamEvent()
		return ev != nil && ev.ID != ""
	})
}

// wasListening reports whether the stream that carries the response to x was open when the HTTP
// response came. Over Streamable HTTP this is always so, because the exchange itself is that
// stream.
func (v *view) wasListening(x *exchange) bool {
	if v.s.Transport != spec.SSE {
		return true
	}
	streams := v.channelsFor(x)
	return len(streams) == 1 && streams[0].isOpenAt(x.Response.Seq)
}

// mayRefuseLegally reports whether a 4xx status may be right for a legal request: 404 and 410
// because the session may be over, 406 and 415 because other rules judge them, and the others
// because of a limit, a conflict, a timeout or a condition that the request does not show.
func mayRefuseLegally(status int) bool {
	switch status {
	case 404, 406, 408, 409, 410, 411, 413, 415, 422, 423, 425, 428, 431:
		return true
	}
	return false
}
