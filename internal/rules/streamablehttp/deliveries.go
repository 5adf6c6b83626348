package streamablehttp

import (
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// judgeDeliveries judges whether the streams of POSTs deliver the responses.
func judgeDeliveries(v *view, out *rules.Reporter) {
	v.forEachStream(func(x *exchange) {
		if v.judgeHalfDelivered(x, out) || v.judgeMisplaced(x, out) {
			return
		}
		if _, all := lastResponse(x); all {
			out.MarkObserved(responseDelivered)
			if x.HowEnded() == transcript.Complete {
				out.MarkObserved(noEarlyClose)
			}
			return
		}
		if x.HowEnded() != transcript.Complete || v.mayBeMisread(x) || v.isExcused(x) || v.mayBeSessionOver(x) {
			return
		}
		v.judgeEarlyEnd(x, out)
	})
}

// mayBeSessionOver reports whether the session of x may have been over when the stream of x ended:
// the server served no later request in that session.
func (v *view) mayBeSessionOver(x *exchange) bool {
	return x.session != "" && !slices.ContainsFunc(v.all, func(y *exchange) bool {
		return y.session == x.session && y.Request.Seq > x.End.Seq && y.Succeeded()
	})
}

// judgeEarlyEnd judges a stream that the server ended before a response.
func (v *view) judgeEarlyEnd(x *exchange, out *rules.Reporter) {
	missing, late, elsewhere := v.countMissing(x)
	if elsewhere > 0 { // streamable-http.get-no-response
		out.MarkReportedElsewhere(responseDelivered)
		return
	}
	if missing+late == 0 {
		return
	}
	if x.hasEventIDs() {
		v.judgePolling(x, out)
	}
	d := verdict.Deviation{
		Summary:   "The server ends the stream of a POST without the response.",
		Permitted: "the end of the stream after all responses",
		Seen:      fmt.Sprintf("a stream that ended with %d of %d responses missing", missing+late, len(x.requests)),
		At:        positionsOf(x.Request, x.Sent, x.Response, x.End),
	}
	// In revisions without the requirement noEarlyClose, the client may resume a stream that has
	// event ids. If the client did not resume the stream, a missing response shows nothing.
	mayPoll := !out.Judges(noEarlyClose)
	switch {
	case mayPoll && missing == 0:
		out.MarkObserved(responseDelivered)
	case mayPoll && x.hasEventIDs():
	case mayPoll:
		d.Requirement, d.Permitted = responseDelivered, "the response before the stream ends, or event ids by which it can be resumed"
		out.Report(d)
	case missing == 0:
		out.MarkObserved(responseDelivered)
		d.Requirement, d.Summary = noEarlyClose, "The server ends a POST stream early and responds on a later stream."
		d.Seen = "a stream that ended before a response, which came on the stream that resumed it"
		if i := slices.IndexFunc(x.requests, func(req *rules.Request) bool {
			return len(req.Responses) > 0 && v.isOnResumed(x, req.Responses[0].Event)
		}); i >= 0 {
			d.At = slices.Concat(rules.PositionsOf(x.requests[i].Responses[0].Event), positionsOf(x.Sent, x.Response, x.End))
		}
		out.Report(d)
	default:
		d.Requirement = noEarlyClose
		out.Report(d)
		out.MarkReportedElsewhere(responseDelivered)
	}
}

// countMissing counts the requests of x that the client did not cancel and whose responses did not
// come on the stream of x: those without a response, those whose response came on a stream that
// resumes x, and those whose response came on another stream.
func (v *view) countMissing(x *exchange) (missing, late, elsewhere int) {
	for _, req := range x.requests {
		switch {
		case responseOn(x, req) != nil || req.IsCancelled():
		case len(req.Responses) == 0:
			missing++
		case v.isOnResumed(x, req.Responses[0].Event):
			late++
		default:
			elsewhere++
		}
	}
	return missing, late, elsewhere
}

// isOnResumed reports whether the event came on a stream that resumes the stream of x.
func (v *view) isOnResumed(x *exchange, e *transcript.Event) bool {
	y := v.exchangeOf(e)
	return y != nil && y != x && v.streamStart(y) == x
}

// judgePolling judges a connection that the server closed so that the client reconnects later.
func (v *view) judgePolling(x *exchange, out *rules.Reporter) {
	if x.hasRetry() {
		out.MarkObserved(retryBeforeClose)
		return
	}
	out.Report(verdict.Deviation{
		Requirement: retryBeforeClose,
		Summary:     "The server closes an unfinished SSE stream without a retry field.",
		Permitted:   "an SSE event with a retry field before the connection is closed",
		Seen:        "the connection closed before the JSON-RPC response, and no event had a retry field",
		Fix:         "Send an SSE event with \"retry: 1000\" (milliseconds) before you close the stream early.",
		At:          positionsOf(x.Request, x.Sent, x.Response, x.End),
	})
}

// judgeHalfDelivered judges a message in an event that lacks its final blank line because the
// server ended the stream: clients drop such events. It reports whether there is one.
func (v *view) judgeHalfDelivered(x *exchange, out *rules.Reporter) bool {
	for _, p := range x.events {
		if p.Kind != transcript.Received || p.sse.IsComplete() || p.IsCut() || x.HowEnded() != transcript.Complete {
			continue
		}
		out.Report(verdict.Deviation{
			Requirement: responseDelivered,
			Summary:     "The server ends a stream inside the event of a message.",
			Permitted:   "a blank line after each event; without it the event is lost",
			Seen:        rules.Excerpt(p.Stream),
			At:          positionsOf(x.Request, x.Sent, x.Response, p.Event),
		})
		return true
	}
	return false
}

// judgeMisplaced judges a response on the stream of another POST, and reports whether there is one.
// streamable-http.get-no-response covers responses on a GET stream.
func (v *view) judgeMisplaced(x *exchange, out *rules.Reporter) bool {
	for _, req := range x.requests {
		if len(req.Responses) == 0 {
			continue
		}
		e := req.Responses[0].Event
		if y := v.exchangeOf(e); y == nil || y == x || y.Method() != "POST" {
			continue
		}
		out.Report(verdict.Deviation{
			Requirement: responseDelivered,
			Summary:     "The server sends a response on the stream of another request.",
			Permitted:   "the response on the stream that its request opened",
			Seen:        rules.Excerpt(e.Raw),
			At:          positionsOf(x.Request, x.Sent, x.Response, e),
		})
		return true
	}
	return false
}
