package streamablehttp

import (
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	accepted         = "streamable-http.accepted-202"
	acceptedResponse = "streamable-http.accepted-202-response"
	rejectedStatus   = "streamable-http.rejected-status"
	rejectedBody     = "streamable-http.rejected-body"
	contentType      = "streamable-http.request-content-type"
	singleObject     = "streamable-http.json-single-object"
	acceptBoth       = "streamable-http.accept-both"
	parseErrorHTTP   = "base.parse-error-http"
	batchComplete    = "base.batch-responses-complete"
)

func postRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.post-accepted",
			Title:        "notifications and responses get 202 without a body, or an error status",
			Requirements: []string{accepted, acceptedResponse, rejectedStatus, rejectedBody},
			Start:        judgeExchangesAtEnd(judgeWithoutRequests),
		},
		{
			ID:           "rule.post-answer",
			Title:        "a request gets one JSON object or an event stream",
			Requirements: []string{contentType, singleObject, batchComplete},
			Start:        judgeExchangesAtEnd(judgePosts),
		},
		{
			ID:           "rule.post-accept",
			Title:        "a client that accepts both types is served",
			Requirements: []string{acceptBoth},
			Start:        judgeExchangesAtEnd(judgeAcceptHeader),
		},
		{
			ID:           "rule.post-unparsable",
			Title:        "a body that is not JSON gets an error status",
			Requirements: []string{parseErrorHTTP},
			Start:        judgeExchangesAtEnd(judgeUnparsable),
		},
	}
}

// judgeWithoutRequests judges the responses to bodies without requests.
func judgeWithoutRequests(v *view, out *rules.Reporter) {
	for _, x := range v.all {
		if !x.isPost() || len(x.requests) > 0 || x.Response == nil {
			continue
		}
		requirement := accepted
		if !slices.ContainsFunc(x.sentMessages(), func(m wire.Message) bool { return m.Kind != wire.Response }) {
			requirement = acceptedResponse
		}
		weight := verdict.Full
		if v.s.Sent.MayBeRefused(x.Sent) {
			weight = verdict.AtMostWarning
		}
		found := func(requirement, summary string) {
			out.Report(verdict.Deviation{
				Requirement: requirement, Summary: summary, Permitted: "status 202 without a body, or an error status", Seen: x.describeSeen(), At: x.positions(),
				Weight: weight,
			})
		}
		switch {
		case x.Refused():
			out.MarkObserved(rejectedStatus)
			judgeRefusalBody(x, out)
		case !x.Succeeded():
		case x.errorIn() != nil:
			found(rejectedStatus, "The server refuses a notification or response with a 2xx status.")
			out.MarkReportedElsewhere(requirement)
		case x.Status() != 202:
			found(requirement, "The server accepts a notification or response, but not with 202.")
		case x.hasBody():
			found(requirement, "The server's 202 for a notification or response has a body.")
		default:
			out.MarkObserved(requirement)
		}
	}
}

// judgeRefusalBody judges the messages in the body of a refusal. A complete body without a
// JSON-RPC message is fine: there is no request whose id an error could have.
func judgeRefusalBody(x *exchange, out *rules.Reporter) {
	plain := x.hasBody() && x.HowEnded() == transcript.Complete && !isAmbiguousStatus(x.Status())
	for _, m := range x.Messages() {
		if !m.Has("jsonrpc") {
			continue
		}
		plain = false
		if m.IsError() && (!m.ID.IsPresent() || m.ID.IsNull()) {
			out.MarkObserved(rejectedBody)
			continue
		}
		out.Report(verdict.Deviation{
			Requirement: rejectedBody,
			Summary:     "The server's refusal has a body that is not an error without id.",
			Permitted:   "an error without an id, or a body that is not a message",
			Seen:        x.describeSeen(), At: x.positions(),
		})
	}
	if plain {
		out.MarkObserved(rejectedBody)
	}
}

// judgePosts judges successful HTTP responses to requests.
func judgePosts(v *view, out *rules.Reporter) {
	for _, x := range v.all {
		if !x.isPost() || len(x.requests) == 0 || !x.Succeeded() || !x.hasBody() && v.needsNoResponse(x) {
			continue
		}
		media := x.ResponseHead().MediaType()
		if media == jsonType || media == transcript.EventStream {
			if d, odd := x.unusualStatus(); odd {
				out.Report(d)
			} else {
				out.MarkObserved(contentType)
			}
			if media == jsonType && x.HowEnded() == transcript.Complete {
				v.judgeJSONBody(x, out)
				judgeBatchResponse(x, out)
			}
			continue
		}
		d := verdict.Deviation{
			Requirement: contentType, Permitted: "application/json or text/event-stream, with the response",
			Summary: "The server answers a request with another media type.", Seen: x.describeSeen(), At: x.positions(),
		}
		if !x.hasBody() {
			d.Summary = "The server's response to a request has no body."
			if id := x.requests[0].Message.ID; id.IsPresent() {
				d.Seen = x.describeSeenWith("id " + rules.Excerpt(id.Raw()))
			}
		}
		out.Report(d)
	}
}

// unusualStatus returns a deviation for a status other than 200, and false for 200. MCP specifies
// no status for a response with content, but clients read 202 as "no response will come", 206 is
// for requests with a Range header, and proxies turn 200 into 203.
func (x *exchange) unusualStatus() (verdict.Deviation, bool) {
	d := verdict.Deviation{
		Requirement: contentType, Weight: verdict.AtMostWarning, Permitted: "200 with the response",
		Summary: "The server answers a request with a status other than 200.", Seen: x.describeSeen(), At: x.positions(),
	}
	switch {
	case x.Status() == 203:
		d.Weight = verdict.OnlyNote
	case x.Status() == 202:
		d.Summary = "The server answers a request with 202, so clients expect nothing."
	}
	return d, x.Status() != 200
}

// needsNoResponse reports whether no response is due any more: the client cancelled the requests,
// or the session has ended.
func (v *view) needsNoResponse(x *exchange) bool {
	cancelled := !slices.ContainsFunc(x.requests, func(req *rules.Request) bool { return !req.IsCancelled() })
	return cancelled || x.End != nil && v.isExcused(x)
}

// judgeJSONBody judges a complete JSON body.
func (v *view) judgeJSONBody(x *exchange, out *rules.Reporter) {
	found := func(summary string, at []int) {
		out.Report(verdict.Deviation{
			Requirement: singleObject, Summary: summary, Permitted: "one JSON object, the response to the request", Seen: x.describeSeen(), At: at,
		})
	}
	if len(x.Body) == 0 {
		found("The server's JSON body is empty.", x.positions())
		return
	}
	e := x.Body[0]
	if e.IsCut() || e.Frame == nil || e.Stream != nil {
		return
	}
	var summary string
	posted := x.Sent.Frame.Batch
	switch f := e.Frame; {
	case f.Has(wire.TooDeep) || f.Has(wire.TooMany):
		return
	case !f.IsReadable():
		summary = "The server's JSON body is not JSON."
	case f.Has(wire.TrailingText):
		summary = "The server's JSON body has more than one value."
	case f.Batch && !v.revision.HasBatches(): // base.batch-not-emitted
		out.MarkReportedElsewhere(singleObject)
		return
	case f.Batch && !posted:
		summary = "The server answers a single request with an array."
	case f.Batch:
		out.MarkObserved(singleObject)
		return
	case f.Messages[0].Kind == wire.Request || f.Messages[0].Kind == wire.Notification:
		summary = "The server's JSON body is a request or a notification."
	case f.Messages[0].Kind == wire.Invalid && f.Messages[0].Has("jsonrpc"), !belongsToExchange(x, &f.Messages[0]):
		out.MarkReportedElsewhere(singleObject) // base rules judge ids and shapes
		return
	case f.Messages[0].Kind == wire.Invalid:
		summary = "The server's JSON body is not a JSON-RPC message."
	default:
		out.MarkObserved(singleObject)
		return
	}
	found(summary, positionsOf(x.Request, x.Sent, x.Response, e))
}

// judgeBatchResponse judges whether the JSON body for a batch has all responses, because they can
// come nowhere else.
func judgeBatchResponse(x *exchange, out *rules.Reporter) {
	if !x.Sent.Frame.Batch || len(x.Body) != 1 || x.Body[0].IsCut() || !x.Body[0].Frame.IsReadable() || x.errorIn() != nil {
		return
	}
	missing := 0
	for _, req := range x.requests {
		if len(req.Responses) == 0 && !req.IsCancelled() {
			missing++
		}
	}
	if missing == 0 {
		out.MarkObserved(batchComplete)
		return
	}
	out.Report(verdict.Deviation{
		Requirement: batchComplete,
		Summary:     "The server's answer to a batch lacks responses.",
		Permitted:   "one response for each request of the batch",
		Seen:        fmt.Sprintf("%d of %d responses are missing", missing, len(x.requests)),
		At:          positionsOf(x.Request, x.Sent, x.Response, x.Body[0]),
	})
}

// belongsToExchange reports whether m has the id of a request in the exchange, or is not a
// response.
func belongsToExchange(x *exchange, m *wire.Message) bool {
	return m.Kind != wire.Response || x.HasRequest(m.ID)
}

func judgeAcceptHeader(v *view, out *rules.Reporter) {
	for _, x := range v.all {
		switch {
		case !x.isPost() || x.flaws&^noVersion != 0:
		case x.Succeeded():
			out.MarkObserved(acceptBoth)
		case x.Status() == 406:
			out.Report(verdict.Deviation{
				Requirement: acceptBoth,
				Summary:     "The server refuses an Accept that lists both types with 406.",
				Permitted:   "a response of either type",
				Seen:        x.describeSeenWith(rules.Excerpt(x.RequestHead().Describe("Accept"))), At: x.positions(), Header: "Accept",
			})
		}
	}
}

func judgeUnparsable(v *view, out *rules.Reporter) {
	for _, x := range v.all {
		if x.Method() != "POST" || x.Sent == nil || x.Sent.IsCut() || !x.Sent.Frame.Has(wire.NotJSON) || x.Response == nil || isAmbiguousStatus(x.Status()) {
			continue
		}
		if x.flaws != badBody {
			continue // the request may be refused for another reason
		}
		d := verdict.Deviation{Requirement: parseErrorHTTP, Permitted: "an error status, optionally with error -32700 without an id", Seen: x.describeSeen(), At: x.positions()}
		m := x.errorIn()
		switch {
		case x.Succeeded() && m != nil:
			d.Summary = "The server refuses a body that is not JSON with a 2xx status."
			out.Report(d)
		case x.Succeeded():
			d.Summary = "The server accepts a body that is not JSON."
			out.Report(d)
		case m != nil && v.s.Era() == spec.Stateless && errorCode(m) == spec.CodeHeaderMismatch: // headers can't match such a body
			out.MarkObserved(parseErrorHTTP)
		case m != nil && x.Status() == 400 && errorCode(m) != spec.CodeParse:
			d.Summary = "The server refuses a body that is not JSON, but not with -32700."
			out.Report(d)
		case x.Refused():
			out.MarkObserved(parseErrorHTTP)
		}
	}
}

// errorCode returns the code of an error, 0 if it has no integer code.
func errorCode(m *wire.Message) spec.Code {
	n, _ := m.ErrorCode()
	return spec.Code(n)
}
