package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	requestAnswered        = "base.request-answered"
	responseOnce           = "base.response-once"
	responseIDEcho         = "base.response-id-echo"
	responseUnsolicited    = "base.response-unsolicited"
	errorResponseID        = "base.error-response-id"
	errorResponseIDAlways  = "base.error-response-id-always"
	notificationNoResponse = "base.notification-no-response"
)

func responseRules() []Rule {
	return []Rule{
		{
			ID:           "rule.request-answered",
			Title:        "each request is answered",
			Requirements: []string{requestAnswered},
			Start:        WithoutState(Fold{AtEnd: reportUnanswered}),
		},
		{
			ID:           "rule.response-once",
			Title:        "no request is answered twice",
			Requirements: []string{responseOnce},
			Start:        WithoutState(Fold{AtEnd: reportRepeated}),
		},
		{
			ID:    "rule.response-ids",
			Title: "each response has the id of the request that it answers, and answers one",
			Requirements: []string{
				responseIDEcho, responseUnsolicited, errorResponseID, errorResponseIDAlways, notificationNoResponse,
			},
			Start: WithoutState(Fold{AtEnd: judgeResponseIDs}),
		},
	}
}

// reportUnanswered reports the requests without a response. It judges at the end, because a late
// response still counts as a response.
func reportUnanswered(s *Session, out *Reporter) {
	s.unmatched.attributeAll()
	reportHeldBack(s, out)
	for _, req := range s.ClientRequests() {
		if len(req.Responses) > 0 {
			if req.due {
				out.MarkObserved(requestAnswered)
			}
			continue
		}
		f := s.factsOf(req)
		switch d := discount.ForRequest(f); {
		case d != nil:
			if f.AfterIllegal {
				out.MarkReportedElsewhere(requestAnswered)
			}
		case req.overdue.Kind == transcript.OutputClosed:
			out.Report(verdict.Deviation{
				Requirement: requestAnswered,
				Summary:     "The server ends without answering a request.",
				Permitted:   "a result or an error for each request before the server ends by itself",
				Seen:        describeEnd(s, req),
				At:          positionsOf(req.Event, s.Sent.lastButPings, req.overdue),
			})
		default:
			seen, at := "no answer to "+DescribeRequest(req.Message), positionsOf(req.Event)
			if other := s.inFlightWith(req); other != nil {
				seen += ", with " + DescribeRequest(other.Message) + " in flight"
				at = positionsOf(req.Event, other.Event)
			}
			out.Report(verdict.Deviation{
				Requirement: requestAnswered,
				Summary:     "The server does not answer a request.",
				Permitted:   "a result or an error",
				Seen:        seen,
				At:          at,
			})
		}
	}
}

// inFlightWith returns another request that may be the reason why req has no response, or nil if
// there is none. It considers the requests that were in flight when the client sent req, and those
// that the client sent right after req. It prefers a request whose id a server may confuse with
// that of req. Otherwise it returns the request that was sent directly after or before req, except
// over HTTP, where concurrent requests arrive in any order.
func (s *Session) inFlightWith(req *Request) *Request {
	var burst []*Request
	for _, other := range s.ClientRequests() {
		if other != req && other.burst == req.burst && other.Event != req.Event {
			burst = append(burst, other)
		}
	}
	for _, other := range burst {
		if looksLike(other.Message.ID, req.Message.ID) {
			return other
		}
	}
	for _, distance := range []int{1, -1} {
		for _, other := range burst {
			if other.Event.Seq == req.Event.Seq+distance {
				return other
			}
		}
	}
	return nil
}

// looksLike reports whether two ids are equal to a server that ignores the type or the sign of an
// id, or that rounds large numbers.
func looksLike(a, b wire.ID) bool {
	bare := func(id wire.ID) string { return strings.TrimLeft(strings.Trim(id.Raw(), `"`), "-") }
	x, y := bare(a), bare(b)
	if x == y {
		return true
	}
	m, err := strconv.ParseFloat(x, 64)
	n, also := strconv.ParseFloat(y, 64)
	return err == nil && also == nil && m == n
}

// DescribeRequest returns the method and the id of a request.
func DescribeRequest(m *wire.Message) string {
	return fmt.Sprintf("%s with id %s", excerpt(m.Method), excerpt(m.ID.Raw()))
}

// isSilent reports whether a response to the request was due and none came, not even with another
// id or in a line that can't be read. It returns false if the client cancelled the request.
func isSilent(s *Session, req *Request) bool {
	return req.overdue != nil && !req.IsCancelled() && req.misidentified == nil && !s.output.mayHaveResponse(req)
}

func isPing(req *Request) bool { return req.Message.Method == spec.MethodPing }

func describeEnd(s *Session, req *Request) string {
	how := "the server closed its output"
	if s.Exited != nil {
		how = "the server ended (" + excerpt(s.Exited.Detail) + ")"
	}
	text := how + " with no answer to " + DescribeRequest(req.Message)
	if last := s.Sent.lastButPings; last != nil && last != req.Event {
		text += "; the client's last message other than pings was " + DescribeSent(last)
	}
	return text
}

// DescribeSent names a message of the client in a few words.
func DescribeSent(e *transcript.Event) string {
	ms := e.Messages()
	switch {
	case len(ms) == 0:
		return "no JSON-RPC message: " + excerpt(e.Raw)
	case e.Frame.Batch:
		return fmt.Sprintf("a batch of %d", len(ms))
	}
	m := &ms[0]
	switch {
	case m.Method != "" && m.ID.IsPresent():
		return DescribeRequest(m)
	case m.Method == spec.MethodCancelled:
		return m.Method + " of request " + excerpt(m.ParamAt("/requestId"))
	case m.Method != "":
		return excerpt(m.Method)
	case m.ID.IsPresent():
		return "a response with id " + excerpt(m.ID.Raw())
	}
	return excerpt(m.Raw)
}

func reportRepeated(s *Session, out *Reporter) {
	s.unmatched.attributeAll()
	for _, req := range s.ClientRequests() {
		if len(req.Responses) == 0 || !req.HasLegalID() {
			continue
		}
		out.MarkObserved(responseOnce)
		for i := 1; i < len(req.Responses); i++ {
			if s.Sent.hasGarbledID(req.Message.ID) {
				break // some of the responses may be to a message that the server could not read with certainty
			}
			out.Report(verdict.Deviation{
				Requirement: responseOnce,
				Summary:     "The server answers a request more than once.",
				Permitted:   "one response",
				Seen:        fmt.Sprintf("response %d to %s", i+1, DescribeRequest(req.Message)),
				At:          positionsOf(req.Event, req.Responses[0].Event, req.Responses[i].Event),
			})
		}
	}
}

func judgeResponseIDs(s *Session, out *Reporter) {
	unmatched := s.unmatched.attributeAll()
	for _, req := range s.ClientRequests() {
		for _, m := range req.Responses {
			if !m.Has("result") && !m.IsError() {
				continue // not a well-formed response
			}
			out.MarkObserved(responseUnsolicited)
			if isSpelledAlike(req.Message.ID, m.ID) {
				out.MarkObserved(responseIDEcho)
			} else {
				out.Report(verdict.Deviation{
					Requirement: responseIDEcho,
					Summary:     "The server writes an integer id in another form, such as 1.0 for 1.",
					Permitted:   "the id as it was sent; the same number in another form is tolerated",
					Seen:        describeIDs(req, m.Message),
					At:          positionsOf(req.Event, m.Event),
					Weight:      verdict.OnlyNote,
				})
			}
			if m.IsError() && req.WellFormed {
				out.MarkObserved(errorResponseID)
				out.MarkObserved(errorResponseIDAlways)
			}
		}
	}
	for _, r := range unmatched {
		if d, ok := unmatchedDeviation(r); ok {
			out.Report(d)
			if d.Requirement == errorResponseID {
				d.Requirement = errorResponseIDAlways // the requirement of the older revisions
				out.Report(d)
			}
		}
	}
	observeNotifications(s, out)
}

// isSpelledAlike reports whether an id came back as it was sent. It returns true for every id that
// was not sent as an integer in plain digits.
func isSpelledAlike(sent, got wire.ID) bool {
	return sent == got || !sent.IsInteger() || sent.Raw() != sent.Key()
}

func describeIDs(req *Request, m *wire.Message) string {
	if !m.ID.IsPresent() {
		return fmt.Sprintf("id %s answered without an id", excerpt(asciiID(req.Message.ID)))
	}
	return fmt.Sprintf("id %s answered with id %s", excerpt(asciiID(req.Message.ID)), excerpt(asciiID(m.ID)))
}

// asciiID returns an id in ASCII, because two ids with different characters may look alike.
func asciiID(id wire.ID) string {
	text := strconv.QuoteToASCII(id.String())
	if strings.Contains(text, `\u`) || strings.Contains(text, `\U`) {
		return strings.ReplaceAll(text[1:len(text)-1], `\"`, `"`)
	}
	return id.String()
}

func unmatchedDeviation(r *unmatchedResponse) (verdict.Deviation, bool) {
	d := verdict.Deviation{At: positionsOf(r.event), Seen: excerpt(r.message.Raw)}
	if r.request != nil {
		d.At = positionsOf(r.request.Event, r.event)
		d.Seen = describeIDs(r.request, r.message)
	}
	switch r.class {
	case changedID:
		d.Requirement, d.Summary, d.Permitted = responseIDEcho, "The server's response has a different id from its request.", "the id of the request, in type and value"
		if !r.request.HasLegalID() { // no client may send such a request, so its outcome is not counted as a failure
			d.Summary, d.Weight = "The server changes the id of an illegal request.", verdict.AtMostWarning
			d.Permitted = "an error without an id, or with the id of the request, or no response"
		}
	case rounded:
		d.Requirement, d.Summary, d.Permitted = responseIDEcho, "The server changes an integer id beyond 2^53-1.", "the id of the request; many servers can't hold so many digits"
		d.Weight = verdict.OnlyNote
	case withoutID:
		d.Requirement, d.Summary, d.Permitted = errorResponseID, "The server sends an error without the id of a readable request.", "the id of the request; null or none only for a message whose id can't be read"
	case toNotification:
		d.Requirement, d.Summary, d.Permitted = notificationNoResponse, "The server answers a notification.", "no answer"
		d.At = positionsOf(r.notification.Event, r.event)
		d.Seen = fmt.Sprintf("after %s: %s", excerpt(r.notification.Method), excerpt(r.message.Raw))
	case toResponse: // no client may send such a response
		d.Requirement, d.Summary, d.Permitted = responseUnsolicited, "The server answers an unexpected response with an error.", "no answer"
		d.Weight = verdict.AtMostWarning
	case unsolicited:
		d.Requirement, d.Summary, d.Permitted = responseUnsolicited, "The server sends a response to no request.", "responses to requests of the client alone"
	default:
		return d, false
	}
	return d, true
}

// observeNotifications counts the notifications that the server had the chance to answer: those
// sent before a request that it answered.
func observeNotifications(s *Session, out *Reporter) {
	last := -1
	for _, req := range s.ClientRequests() {
		if len(req.Responses) > 0 {
			last = max(last, req.Event.Seq)
		}
	}
	for _, n := range s.Sent.notifications {
		if n.Event.Seq < last {
			out.MarkObserved(notificationNoResponse)
		}
	}
}
