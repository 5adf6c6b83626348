package transcript

import (
	"net/http"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// EventStream is the media type of a stream of server-sent events.
const EventStream = "text/event-stream"

// An Exchange is one HTTP request and its outcome. A field is nil if its event did not happen or
// was not recorded.
type Exchange struct {
	Number   int
	Request  *Event   // Requested
	Sent     *Event   // the body of the request
	Response *Event   // Responded; the final response rather than an interim (1xx) one
	Body     []*Event // Received and Streamed, in order
	End      *Event   // Over
}

// Exchanges holds the HTTP exchanges of a transcript. The zero value is empty.
type Exchanges struct {
	byNumber map[int]*Exchange
	order    []*Exchange
}

// ExchangesOf returns the HTTP exchanges of the events.
func ExchangesOf(events []*Event) *Exchanges {
	x := &Exchanges{}
	for _, e := range events {
		x.Note(e)
	}
	return x
}

// All returns the exchanges in the order in which they began.
func (x *Exchanges) All() []*Exchange { return x.order }

// RefusedAllGets reports whether the client sent a GET, and the server refused every GET. The
// server then has no stream for messages that belong to no request. Any refusal counts, not only
// the status 405, which the specification demands, because other statuses have findings of their
// own. A refusal that may come from a proxy or a rate limiter does not count, because it shows
// nothing about the server.
func (x *Exchanges) RefusedAllGets() bool {
	refused := false
	for _, each := range x.order {
		if each.Method() != http.MethodGet {
			continue
		}
		if !each.Refused() || each.Intercepted() {
			return false
		}
		refused = true
	}
	return refused
}

// Of returns the exchange of an event, or nil.
func (x *Exchanges) Of(e *Event) *Exchange {
	if e == nil {
		return nil
	}
	return x.byNumber[e.Exchange]
}

// Note adds the next event.
func (x *Exchanges) Note(e *Event) {
	if e.Exchange == 0 {
		return
	}
	if x.byNumber == nil {
		x.byNumber = map[int]*Exchange{}
	}
	at := x.byNumber[e.Exchange]
	if at == nil {
		at = &Exchange{Number: e.Exchange}
		x.byNumber[e.Exchange] = at
		x.order = append(x.order, at)
	}
	switch e.Kind {
	case Requested:
		at.Request = firstNonNil(at.Request, e)
	case Sent:
		at.Sent = firstNonNil(at.Sent, e)
	case Responded:
		if at.Response == nil || at.Status() < 200 {
			at.Response = e
		}
	case Received, Streamed:
		at.Body = append(at.Body, e)
	case Over:
		at.End = firstNonNil(at.End, e)
	}
}

func firstNonNil(have, e *Event) *Event {
	if have != nil {
		return have
	}
	return e
}

// Method returns the method of the request, or "" if it is unknown.
func (x *Exchange) Method() string {
	if x.Request == nil || x.Request.Head == nil {
		return ""
	}
	return x.Request.Head.Method()
}

// Status returns the status code of the response, or 0 if there is none.
func (x *Exchange) Status() int {
	if x.Response == nil || x.Response.Head == nil {
		return 0
	}
	return x.Response.Head.Status()
}

// RequestHead returns the head of the request; it is never nil.
func (x *Exchange) RequestHead() *Head { return headOf(x.Request) }

// ResponseHead returns the head of the response; it is never nil.
func (x *Exchange) ResponseHead() *Head { return headOf(x.Response) }

func headOf(e *Event) *Head {
	if e == nil || e.Head == nil {
		return &Head{}
	}
	return e.Head
}

// Succeeded reports whether the response has a 2xx status.
func (x *Exchange) Succeeded() bool { return x.Status() >= 200 && x.Status() < 300 }

// Refused reports whether the response has a 4xx or 5xx status.
func (x *Exchange) Refused() bool { return x.Status() >= 400 }

// Intercepted reports whether the server may never have seen the request: the status may come from
// a proxy, gateway or rate limiter, or the response requires a token that the request lacks, or a
// token with more scopes.
func (x *Exchange) Intercepted() bool {
	_, lacksScope := x.MissingScope()
	return IsInterceptedStatus(x.Status()) || lacksScope || x.Status() == http.StatusUnauthorized && !x.RequestHead().Has("Authorization")
}

// MissingScope reports whether the response refuses a token because it lacks scopes, and returns
// the scopes that the response names (RFC 6750, section 3.1).
func (x *Exchange) MissingScope() (scope string, ok bool) {
	if x.ResponseHead() == nil {
		return "", false
	}
	return x.ResponseHead().MissingScope()
}

// MissingScope is like Exchange.MissingScope, but for the head of a response.
func (h *Head) MissingScope() (scope string, ok bool) {
	if h.Status() != http.StatusForbidden {
		return "", false
	}
	for _, challenge := range h.Values("WWW-Authenticate") {
		if insufficientScope.MatchString(challenge) {
			if m := scopeParameter.FindStringSubmatch(challenge); m != nil {
				scope = m[1]
			}
			return scope, true
		}
	}
	return "", false
}

var (
	insufficientScope = lazyregexp.New(`(?i)\berror\s*=\s*"?insufficient_scope\b`)
	scopeParameter    = lazyregexp.New(`(?i)(?:^|[\s,])scope\s*=\s*"([^"]*)"`)
)

// IsInterceptedStatus reports whether a status may come from a proxy, gateway or rate limiter, so
// that the server may never have seen the request:
//
//	407            a proxy wants credentials
//	429            a limit on requests
//	502, 503, 504  a gateway whose server fails, is overloaded or too slow
func IsInterceptedStatus(status int) bool {
	switch status {
	case 407, 429, 502, 503, 504:
		return true
	}
	return false
}

// IsAmbiguousStatus reports whether a status may have a reason other than the request itself: the
// identity of the client, or something between client and server. These are the statuses of
// IsInterceptedStatus, and
//
//	401, 403  an access check, by the server or in front of it
//	402       an exhausted quota, or an unpaid bill
//	421       a check of the host name, by a server with several
//
// A check of a requirement that demands such a status, such as 403 for an invalid Origin, does not
// treat it as ambiguous.
func IsAmbiguousStatus(status int) bool {
	switch status {
	case 401, 402, 403, 421:
		return true
	}
	return IsInterceptedStatus(status)
}

// IsStream reports whether the body of the response is an event stream.
func (x *Exchange) IsStream() bool {
	if x.ResponseHead().MediaType() == EventStream {
		return true
	}
	for _, e := range x.Body {
		if e.Stream != nil {
			return true
		}
	}
	return false
}

// HowEnded returns how the exchange ended, or "" if it has not ended.
func (x *Exchange) HowEnded() How {
	if x.End == nil {
		return ""
	}
	return x.End.How
}

// HasRequest reports whether the body of the request has a JSON-RPC request with the id. A message
// with an id that is neither a request nor a response counts as a request.
func (x *Exchange) HasRequest(id wire.ID) bool {
	return x.Sent != nil && id.IsPresent() && slices.ContainsFunc(x.Sent.Messages(), func(m wire.Message) bool {
		return m.Kind != wire.Response && m.ID.Same(id)
	})
}

// Messages returns the JSON-RPC messages in the response body.
func (x *Exchange) Messages() []wire.Message {
	var out []wire.Message
	for _, e := range x.Body {
		out = append(out, e.Messages()...)
	}
	return out
}

// ResponseTo returns the JSON-RPC response with the id in the response body, or nil.
func (x *Exchange) ResponseTo(id wire.ID) *wire.Message {
	for _, e := range x.Body {
		if m := e.ResponseTo(id); m != nil {
			return m
		}
	}
	return nil
}
