package streamablehttp

import (
	"fmt"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	responseDelivered  = "streamable-http.sse-response-delivered"
	noEarlyClose       = "streamable-http.sse-no-early-close"
	primingEvent       = "streamable-http.sse-priming-event"
	retryBeforeClose   = "streamable-http.sse-retry-before-close"
	closeAfterResponse = "streamable-http.sse-close-after-response-2025-03-26"
	closeAfterFinal    = "streamable-http.sse-close-after-response-2026-07-28"
	interimRelated     = "streamable-http.sse-interim-related-2025-03-26"
	jsonrpc20          = "base.jsonrpc-2-0"
	legacyUTF8         = "sse.utf8"
)

func streamRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.stream-delivers",
			Title:        "the stream of a POST carries the response before it ends, or can be resumed",
			Requirements: []string{responseDelivered, noEarlyClose, retryBeforeClose},
			Start:        judgeExchangesAtEnd(judgeDeliveries),
		},
		{
			ID:           "rule.stream-primed",
			Title:        "the stream of a POST begins with an event id",
			Requirements: []string{primingEvent},
			Start:        judgeExchangesAtEnd(judgePriming),
		},
		{
			ID:           "rule.stream-ends",
			Title:        "the stream of a POST ends with the response",
			Requirements: []string{closeAfterResponse, closeAfterFinal},
			Start:        judgeExchangesAtEnd(judgeStreamEnds),
		},
		{
			ID:           "rule.stream-related",
			Title:        "messages on the stream of a POST belong to its request",
			Requirements: []string{interimRelated},
			Start:        judgeExchangesAtEnd(judgeRelated),
		},
		{
			ID:           "rule.stream-messages",
			Title:        "the data of each event is a JSON-RPC message",
			Requirements: []string{jsonrpc20, legacyUTF8},
			Start:        judgeExchangesAtEnd(judgeStreamMessages),
		},
	}
}

// forEachStream calls visit with the streams that respond to requests. It skips streams for which
// the server may follow another revision: if there is no version header, the server may assume an
// older one, and initialize or its result may name another one.
func (v *view) forEachStream(visit func(x *exchange)) {
	for _, x := range v.all {
		other := x.flaws&(noVersion|badVersion|otherVersion) != 0 || v.beginsOtherRevision(x)
		if v.s.Transport == spec.StreamableHTTP && !other && x.isPost() && len(x.requests) > 0 && x.isStreamOpened() {
			visit(x)
		}
	}
}

// beginsOtherRevision reports whether the stream responds to an initialize, and the initialize or
// its result names another revision than that of the transcript. A server may begin the stream by
// the rules of the requested revision, before it knows which one it returns.
func (v *view) beginsOtherRevision(x *exchange) bool {
	for _, req := range x.requests {
		if req.Message.Method != spec.MethodInitialize {
			continue
		}
		if version, named := wire.Text(wire.At(req.Message.Params(), "/protocolVersion")); !named || version != string(v.revision) {
			return true
		}
		for _, m := range req.Responses {
			version, named := wire.Text(m.ResultAt("/protocolVersion"))
			if named && version != string(v.revision) {
				return true
			}
		}
	}
	return false
}

// responseOn returns the event with the response to the request on the stream, or nil.
func responseOn(x *exchange, req *rules.Request) *transcript.Event {
	for _, m := range req.Responses {
		if m.Event.Exchange == x.Number {
			return m.Event
		}
	}
	return nil
}

// lastResponse reports whether the stream delivered all responses, and returns the event with the
// last one.
func lastResponse(x *exchange) (*transcript.Event, bool) {
	var last *transcript.Event
	for _, req := range x.requests {
		e := responseOn(x, req)
		if e == nil {
			return last, false
		}
		if last == nil || e.Seq > last.Seq {
			last = e
		}
	}
	return last, true
}

// mayBeMisread reports whether the response may have come in another form, which other rules
// judge: with another id, or unreadable.
func (v *view) mayBeMisread(x *exchange) bool {
	for _, p := range x.events {
		if p.Kind != transcript.Received {
			continue
		}
		if p.IsCut() || !p.Frame.IsReadable() {
			return true
		}
		for i := range p.Frame.Messages {
			m := &p.Frame.Messages[i]
			if (m.Kind == wire.Response || m.Kind == wire.Invalid) && !belongsToExchange(x, m) || m.Kind == wire.Invalid {
				return true
			}
		}
	}
	return false
}

// isExcused reports whether the server had a reason to end the stream: the session was over, or
// the client made the server stop.
func (v *view) isExcused(x *exchange) bool {
	return v.s.Signalled || v.s.InputClosed || v.isSessionOver(x)
}

func (x *exchange) hasEventIDs() bool {
	for _, p := range x.events {
		if p.sse.ID != "" {
			return true
		}
	}
	return false
}

func (x *exchange) hasRetry() bool {
	for _, p := range x.events {
		if p.sse.Retry != "" {
			return true
		}
	}
	return false
}

func judgePriming(v *view, out *rules.Reporter) {
	v.forEachStream(func(x *exchange) {
		for _, p := range x.events {
			if !p.sse.HasID && !p.sse.HasData {
				continue // comments or a retry field
			}
			if p.sse.ID != "" && len(p.sse.Data) == 0 {
				out.MarkObserved(primingEvent)
				return
			}
			out.Report(verdict.Deviation{
				Requirement: primingEvent,
				Summary:     "The server's POST stream begins without an id and empty data.",
				Permitted:   "a first event with an id and empty data",
				Seen:        rules.Excerpt(p.Stream),
				At:          positionsOf(x.Request, x.Response, p.Event),
			})
			return
		}
	})
}

// lingerTime is how long a stream may stay open after its last response.
const lingerTime = 5 * time.Second

func judgeStreamEnds(v *view, out *rules.Reporter) {
	requirement := closeAfterResponse
	if v.s.Era() == spec.Stateless {
		requirement = closeAfterFinal
	}
	v.forEachStream(func(x *exchange) {
		last, all := lastResponse(x)
		if !all {
			return
		}
		found := func(summary, seen string, more ...int) {
			out.Report(verdict.Deviation{
				Requirement: requirement, Summary: summary, Permitted: "the end of the stream after the last response",
				Seen: seen, At: append(positionsOf(x.Request, x.Response, last), more...),
			})
		}
		for _, p := range x.events {
			if p.Seq > last.Seq && p.Kind == transcript.Received && !v.isJudgedByOtherRequirements(p) {
				found("The server sends messages after the response on its stream.", rules.Excerpt(p.Raw), p.Seq)
				return
			}
		}
		until := v.end
		switch x.HowEnded() {
		case transcript.Complete:
			out.MarkObserved(requirement)
			return
		case transcript.Dropped:
			until = x.End.At
		case "":
		default:
			return
		}
		if until-last.At >= lingerTime {
			found("The server keeps the stream open after the response.", fmt.Sprintf("a stream that was still open %v after the response", (until-last.At).Round(time.Second)))
		}
	})
}

// isJudgedByOtherRequirements reports whether other requirements cover all messages of an event
// that came after the response: a second response, or further progress; in the stateless era also
// log messages and notifications of a subscription.
func (v *view) isJudgedByOtherRequirements(p streamEvent) bool {
	if p.IsCut() {
		return true
	}
	for i := range p.Frame.Messages {
		m := &p.Frame.Messages[i]
		stateless := v.s.Era() == spec.Stateless && (m.Method == spec.MethodMessage || spec.FilterMember(m.Method) != "")
		if m.Kind != wire.Response && m.Method != spec.MethodProgress && !stateless {
			return false
		}
	}
	return true
}

// judgeRelated looks for progress of another request. Other messages don't show to which request
// they are related.
func judgeRelated(v *view, out *rules.Reporter) {
	v.forEachStream(func(x *exchange) {
		for _, p := range x.events {
			owner, token := v.requestOfProgress(p)
			switch {
			case owner == nil:
			case owner.Event.Exchange == x.Number:
				out.MarkObserved(interimRelated)
			default:
				out.Report(verdict.Deviation{
					Requirement: interimRelated,
					Summary:     "The server sends progress on the stream of another request.",
					Permitted:   "messages that belong to the request of the stream",
					Seen:        "progress with the token " + rules.Excerpt(token) + " of another request",
					At:          positionsOf(x.Request, x.Sent, owner.Event, p.Event),
					Pointer:     "/params/progressToken",
					Earlier:     "/params/_meta/progressToken",
				})
			}
		}
	})
}

// requestOfProgress returns the request whose progress the event reports, and its token; nil if it
// is not progress, or if several requests have the token. It skips tasks of 2025-11-25, which
// outlive their request.
func (v *view) requestOfProgress(p streamEvent) (*rules.Request, string) {
	if p.Kind != transcript.Received || p.IsCut() || len(p.Frame.Messages) != 1 {
		return nil, ""
	}
	m := &p.Frame.Messages[0]
	token := m.ParamIDAt("/progressToken")
	if m.Kind != wire.Notification || m.Method != spec.MethodProgress || !token.IsPresent() {
		return nil, ""
	}
	owners := v.s.RequestsWithToken(token)
	if len(owners) != 1 || owners[0].Message.ParamAt("/task") != nil {
		return nil, ""
	}
	return owners[0], token.Raw()
}

func judgeStreamMessages(v *view, out *rules.Reporter) {
	for _, x := range v.all {
		for _, p := range x.events {
			if p.Kind != transcript.Received || p.IsCut() || p.Frame.Has(wire.TooDeep) || p.Frame.Has(wire.TooMany) {
				continue
			}
			requirement, permitted := jsonrpc20, "one JSON-RPC message as the data of each message event"
			if out.Judges(legacyUTF8) {
				requirement, permitted = legacyUTF8, "JSON in UTF-8 as the data of a message event"
			}
			found := func(requirement, summary, fix string) {
				out.Report(verdict.Deviation{
					Requirement: requirement, Summary: summary, Permitted: permitted,
					Seen: rules.Excerpt(p.Raw), At: positionsOf(x.Request, x.Response, p.Event), Fix: fix,
				})
			}
			switch {
			case !p.Frame.IsReadable():
				found(requirement, "The server's message event is not JSON.", "Send only JSON-RPC messages as events; send other text as a comment, after a colon.")
			case p.Frame.Has(wire.TrailingText):
				found(requirement, "The server's message event has more than one JSON value.", "Send each message in an SSE event of its own.")
			case p.Frame.Has(wire.InvalidUTF8) && requirement == legacyUTF8 && !p.isUTF8():
				found(requirement, "The server's message event is not UTF-8.", "Encode all events as UTF-8.")
			case !hasMessage(p.Frame):
				found(jsonrpc20, "The server's message event is not a JSON-RPC message.", "Send only JSON-RPC messages as data, or nothing: data that is empty is permitted.")
			default:
				out.MarkObserved(requirement)
			}
		}
	}
}

// hasMessage reports whether any value in the frame is meant to be a message. It returns true for
// an empty batch.
func hasMessage(f *wire.Frame) bool {
	for i := range f.Messages {
		if m := &f.Messages[i]; m.Kind != wire.Invalid || m.Has("jsonrpc") {
			return true
		}
	}
	return f.Batch && len(f.Messages) == 0
}
