package streamablehttp

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	singleEndpoint    = "streamable-http.single-endpoint"
	streamOr405       = "streamable-http.get-stream-or-405"
	getUnrelated      = "streamable-http.get-unrelated"
	getNoResponse     = "streamable-http.get-no-response"
	getRetry          = "streamable-http.get-retry-before-close"
	concurrentStreams = "streamable-http.concurrent-streams"
)

func httpGetRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.get-status",
			Title:        "GET opens a stream, or gets 405",
			Requirements: []string{singleEndpoint, streamOr405, concurrentStreams},
			Start:        judgeExchangesAtEnd(judgeGetStatus),
		},
		{
			ID:           "rule.get-messages",
			Title:        "the stream of a GET carries no response to a POST",
			Requirements: []string{getUnrelated, getNoResponse},
			Start:        judgeExchangesAtEnd(judgeGetMessages),
		},
		{
			ID:           "rule.get-retry",
			Title:        "a resumed stream is not closed before the response without a retry field",
			Requirements: []string{getRetry},
			Start:        judgeExchangesAtEnd(judgeGetRetries),
		},
	}
}

// forEachGet calls visit with each GET that does not resume a stream.
func (v *view) forEachGet(visit func(x *exchange)) {
	for _, x := range v.all {
		if v.s.Transport == spec.StreamableHTTP && x.Method() == "GET" && !x.isResumption() {
			visit(x)
		}
	}
}

func judgeGetStatus(v *view, out *rules.Reporter) {
	v.forEachGet(func(x *exchange) {
		if x.flaws != 0 || v.initialized < 0 || x.Request.Seq < v.initialized {
			return
		}
		if x.Response == nil {
			v.judgeUnanswered(x, out)
			return
		}
		if isAmbiguousStatus(x.Status()) {
			return
		}
		d := verdict.Deviation{Requirement: streamOr405, Permitted: "status 200 with text/event-stream, or 405", Seen: x.describeSeen(), At: x.positions()}
		other := v.otherOpenStream(x)
		switch {
		case x.Status() == 405 || x.Status() == 200 && x.ResponseHead().MediaType() == transcript.EventStream:
			out.MarkObserved(singleEndpoint)
			out.MarkObserved(streamOr405)
			if other != nil && x.Succeeded() {
				out.MarkObserved(concurrentStreams)
			}
		case other != nil && x.Refused():
			d.Requirement, d.Permitted = concurrentStreams, "several streams at once"
			d.Summary, d.At = "The server refuses a second GET stream while the first is open.", positionsOf(other.Request, x.Request, x.Response)
			out.Report(d)
		case x.Status() == 404 && !v.isSessionServedAfter(x): // the session may be over
		case x.Status() == 409 && v.hadStreamBefore(x): // the server may not have noticed yet that the client closed the earlier stream
		case x.Status() == 404 || x.Status() == 501:
			d.Requirement, d.Permitted = singleEndpoint, "status 200 with text/event-stream, or 405, on the path that takes POST"
			d.Summary = "The server answers GET at its endpoint as if the path did not exist."
			out.Report(d)
			out.MarkReportedElsewhere(streamOr405)
		case x.Succeeded() && x.ResponseHead().MediaType() == transcript.EventStream:
			// MCP does not specify the status; readers of event streams require 200.
			d.Summary, d.Weight = "The server opens a GET stream with a status other than 200.", verdict.AtMostWarning
			out.Report(d)
		case x.Succeeded():
			d.Summary = "The server answers a GET with something other than an event stream."
			out.Report(d)
		default:
			d.Summary = "The server refuses a GET with a status other than 405."
			out.Report(d)
		}
	})
}

// headTime is how long every server may take to send the response head of a GET. A server whose
// POSTs are slow may take maxSlowdown times as long as for its slowest POST, but no longer than
// lingerTime.
const (
	headTime    = 2500 * time.Millisecond
	maxSlowdown = 10
)

// judgeUnanswered judges a GET without a response while the server answers later requests. Without
// the response, the client can't know that there is a stream.
func (v *view) judgeUnanswered(x *exchange, out *rules.Reporter) {
	until := v.end
	if x.End != nil {
		until = x.End.At
	}
	limit := headTime
	for _, y := range v.all {
		if y.Method() == "POST" && y.Response != nil {
			limit = max(limit, maxSlowdown*(y.Response.At-y.Request.At))
		}
	}
	if until-x.Request.At < min(limit, lingerTime) || x.End != nil && x.End.How != transcript.Dropped {
		return
	}
	for _, y := range v.all {
		if y.Method() != "POST" || !y.Succeeded() || y.Request.Seq < x.Request.Seq {
			continue
		}
		out.Report(verdict.Deviation{
			Requirement: streamOr405,
			Summary:     "The server does not answer a GET, but answers other requests.",
			Permitted:   "the response head at once, even before the first event",
			Seen:        fmt.Sprintf("no response head for %v", (until - x.Request.At).Round(time.Second)),
			At:          positionsOf(x.Request, y.Response, x.End),
			Weight:      verdict.AtMostWarning,
		})
		return
	}
}

// hadStreamBefore reports whether an earlier GET of the same session opened a stream.
func (v *view) hadStreamBefore(x *exchange) bool {
	for _, y := range v.all {
		if y.Method() == "GET" && y.session == x.session && y.isStreamOpened() && y.Request.Seq < x.Request.Seq {
			return true
		}
	}
	return false
}

// otherOpenStream returns another GET of the same session whose stream was open when x was sent, or
// nil.
func (v *view) otherOpenStream(x *exchange) *exchange {
	for _, y := range v.all {
		if y != x && y.Method() == "GET" && y.session == x.session && y.isOpenAt(x.Request.Seq) {
			return y
		}
	}
	return nil
}

func judgeGetMessages(v *view, out *rules.Reporter) {
	v.forEachGet(func(x *exchange) {
		if !x.isStreamOpened() {
			return
		}
		if v.isAnsweredDuring(x) {
			out.MarkObserved(getNoResponse)
		}
		for _, p := range x.events {
			if p.Kind != transcript.Received || p.IsCut() {
				continue
			}
			if m := responseIn(p); m != nil {
				if _, twice := v.earlierDelivery(p); twice { // streamable-http.no-broadcast
					out.MarkReportedElsewhere(getNoResponse)
					continue
				}
				out.Report(verdict.Deviation{
					Requirement: getNoResponse,
					Summary:     "The server sends a response on a GET stream that resumes nothing.",
					Permitted:   "requests and notifications; responses on the stream of their POST",
					Seen:        rules.Excerpt(m.Raw),
					At:          positionsOf(x.Request, x.Response, p.Event),
				})
				continue
			}
			v.judgeUnrelated(x, p, out)
		}
	})
}

func responseIn(p streamEvent) *wire.Message {
	for i := range p.Frame.Messages {
		if m := &p.Frame.Messages[i]; m.Kind == wire.Response {
			return m
		}
	}
	return nil
}

// isAnsweredDuring reports whether a request was answered while the stream of x was open, so that
// the response could have come on it.
func (v *view) isAnsweredDuring(x *exchange) bool {
	for _, req := range v.s.ClientRequests() {
		if len(req.Responses) > 0 && req.Responses[0].Event.Exchange != x.Number && x.isOpenAt(req.Responses[0].Event.Seq) {
			return true
		}
	}
	return false
}

// judgeUnrelated judges whether p, a message on a GET stream, belongs to a request in progress. It
// judges only progress notifications, because other messages don't show to which request they
// belong.
func (v *view) judgeUnrelated(x *exchange, p streamEvent, out *rules.Reporter) {
	owner, token := v.requestOfProgress(p)
	switch {
	case owner == nil:
		out.MarkObserved(getUnrelated)
	case owner.InFlight(p.Seq):
		out.Report(verdict.Deviation{
			Requirement: getUnrelated,
			Summary:     "The server sends a request's progress on a GET stream.",
			Permitted:   "messages that belong to no request in progress; progress on the stream of its POST",
			Seen:        "progress with the token " + rules.Excerpt(token),
			At:          positionsOf(x.Request, owner.Event, p.Event),
			Pointer:     "/params/progressToken",
			Earlier:     "/params/_meta/progressToken",
		})
	}
}

// judgeGetRetries judges GET connections that the server closed before the stream had ended. Only
// GETs that resume the stream of a POST are judged, because such a stream must continue until the
// response. A stream for unsolicited messages may end at any time, and nothing shows whether a
// later stream continues it.
func judgeGetRetries(v *view, out *rules.Reporter) {
	for _, x := range v.all {
		if x.Method() != "GET" || !x.isStreamOpened() || x.HowEnded() != transcript.Complete || v.isExcused(x) {
			continue
		}
		end := v.laterResponse(x)
		if end == nil {
			continue
		}
		if v.hasRetryUpTo(x) {
			out.MarkObserved(getRetry)
			continue
		}
		if v.isTakenOver(x) {
			continue
		}
		out.Report(verdict.Deviation{
			Requirement: getRetry,
			Summary:     "The server closes an unfinished GET stream without a retry field.",
			Permitted:   "an SSE event with a retry field before the connection is closed",
			Seen:        "the connection closed without a retry field; the response came when the stream was resumed again",
			At:          positionsOf(x.Request, x.Response, x.End, end),
		})
	}
}

// laterResponse returns the first response to a request of the POST whose stream x resumed, if that
// response came on another GET that resumed the same stream after the end of x; otherwise nil.
func (v *view) laterResponse(x *exchange) *transcript.Event {
	origin := v.streamStart(x)
	if origin == nil || origin.Method() != "POST" {
		return nil
	}
	for _, req := range origin.requests {
		if len(req.Responses) == 0 {
			continue
		}
		if y := v.exchangeOf(req.Responses[0].Event); y != nil && y.Request.Seq > x.End.Seq && v.streamStart(y) == origin {
			return req.Responses[0].Event
		}
	}
	return nil
}

// hasRetryUpTo reports whether the stream of x had a retry field before x ended, on any of its
// connections: a client keeps the last value.
func (v *view) hasRetryUpTo(x *exchange) bool {
	return slices.ContainsFunc(v.all, func(y *exchange) bool {
		return v.streamStart(y) == v.streamStart(x) && slices.ContainsFunc(y.events, func(p streamEvent) bool { return p.sse.Retry != "" && p.Seq < x.End.Seq })
	})
}

// isTakenOver reports whether the client opened another GET stream while x was open. A server may
// then close x without notice.
func (v *view) isTakenOver(x *exchange) bool {
	for _, y := range v.all {
		if y != x && y.Method() == "GET" && y.session == x.session && y.Request.Seq > x.Request.Seq && y.Request.Seq < x.End.Seq {
			return true
		}
	}
	return false
}
