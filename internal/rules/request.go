package rules

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Request is a request of the client.
type Request struct {
	*transcript.Request
	// WellFormed is set if the request is valid JSON and valid JSON-RPC, so that the server has no
	// reason to refuse its form.
	WellFormed bool
	// Metadata is parsed from _meta; nil in the handshake era.
	Metadata *Metadata
	// HeaderFlaws lists what is wrong with the request's HTTP headers in the stateless era.
	HeaderFlaws []HeaderFlaw
	// UnlistedTool is set if the request calls a tool that no list contained before, so that the
	// client could not know which headers the call must have.
	UnlistedTool bool

	isStrictJSON      bool // its frame is valid JSON
	batched           bool
	reused            bool // the id was used before
	idCancelled       bool // the client cancelled the id before
	due               bool // the server has to respond to a request sent at this time
	refused           bool // the HTTP status refused it, or there was no connection
	beforeInitialized bool // a ping after the response to initialize, before notifications/initialized
	whileOpen         bool // the handshake was complete; in the stateless era, see Versions.notePhase
	// overdue is the event at which a response was due and had not come: the client's timeout, the
	// end of the server, or the end of the HTTP response. It is nil if there was no such event.
	overdue *transcript.Event
	// excusable is set if illegal messages of the client may be the reason why the request is
	// overdue.
	excusable bool
	// disrupted is set if the request has no response, but a disruption (see Disruption) may be the
	// reason. The rules on disruptions then report it.
	disrupted bool
	// burst is the number of its burst: the requests that the client sent before anything else
	// happened have the same number.
	burst int
	// misidentified is the response that was meant for this request but has another id.
	misidentified *unmatchedResponse

	// saysOverload caches the result of reportsOverload for the first response, and is valid if
	// sawResponse is set. validMeta caches the result of HasValidMeta, and is valid if sawMeta is
	// set.
	saysOverload, sawResponse bool
	validMeta, sawMeta        bool
}

// Succeeded reports whether the request's first response is a result.
func (req *Request) Succeeded() bool {
	return len(req.Responses) > 0 && req.Responses[0].Has("result") && !req.Responses[0].IsError()
}

// IsRepeatOf reports whether two requests have the same method, name, URI and arguments. A retry with
// input is a repeat of the first request.
func (req *Request) IsRepeatOf(other *Request) bool {
	same := func(param string) bool {
		return string(req.Message.ParamAt(param)) == string(other.Message.ParamAt(param))
	}
	return req.Message.Method == other.Message.Method && same("/name") && same("/uri") && same("/arguments")
}

// IsOverloaded reports whether the request's first response is an overload error, which says
// nothing about the request itself.
func (req *Request) IsOverloaded() bool {
	return len(req.Responses) > 0 && req.Responses[0].IsError() && req.hasOverloadResponse()
}

// hasOverloadResponse is like IsOverloaded, but also includes results of tools that report
// overload.
func (req *Request) hasOverloadResponse() bool {
	return len(req.Responses) > 0 && req.reportsOverload(req.Responses[0].Message)
}

// reportsOverload reports whether m, a response to the request, is an overload error. It reads the
// first response only once, because each odd request is compared with many others.
func (req *Request) reportsOverload(m *wire.Message) bool {
	if m != req.Responses[0].Message {
		return m.IsOverloadError()
	}
	if !req.sawResponse {
		req.sawResponse, req.saysOverload = true, m.IsOverloadError()
	}
	return req.saysOverload
}

// IsCancelled reports whether the client cancelled the request, or its id before the request was
// sent. The server need not respond to a cancelled request.
func (req *Request) IsCancelled() bool { return req.idCancelled || len(req.Cancellations) > 0 }

// CancelledBefore is like IsCancelled, but counts only cancellations before the position.
func (req *Request) CancelledBefore(at int) bool {
	return req.idCancelled || len(req.Cancellations) > 0 && req.Cancellations[0].Event.Seq < at
}

// isCancelledBy reports whether the notification cancels the request.
func (req *Request) isCancelledBy(n *transcript.Message) bool {
	return slices.ContainsFunc(req.Cancellations, func(m transcript.Message) bool { return m.Event == n.Event })
}

// Unanswered reports whether a response to the request was due and none had come when the client
// stopped waiting or the server ended. The requirement base.request-answered is about that.
func (req *Request) Unanswered() bool { return req.overdue != nil }

// MayBeCancelled reports whether the client cancelled the request and its first response is an
// error, possibly because of the cancellation.
func (req *Request) MayBeCancelled() bool {
	return req.IsCancelled() && len(req.Responses) > 0 && req.Responses[0].IsError()
}

// IsRegular reports whether the response depends only on the method and its params: the request is
// well formed, has an id that was not used before, and was sent after the handshake. In the
// stateless era, which has no handshake, the request has complete metadata that names the revision
// by which the conversation is judged, and matching headers. A regular request may be part of a
// batch.
func (req *Request) IsRegular() bool { return req.WellFormed && !req.reused && req.whileOpen }

// HasValidMeta reports whether the request has no _meta, or an object whose progress token, if
// any, is a string or a 64-bit integer.
func (req *Request) HasValidMeta() bool {
	if !req.sawMeta {
		req.sawMeta, req.validMeta = true, hasValidMeta(req.Message)
	}
	return req.validMeta
}

func hasValidMeta(m *wire.Message) bool {
	meta := m.ParamAt("/_meta")
	if meta == nil {
		return true
	}
	token := wire.At(meta, "/progressToken")
	_, whole := wire.Integer(token)
	return meta.Kind() == '{' && (token == nil || token.Kind() == '"' || whole)
}

// HasLegalID reports whether the id is of a type that a request may have.
func (req *Request) HasLegalID() bool { return req.Message.ID.IsLegal() }

// HasSafeID reports whether every server can hold the id: it is not an integer beyond 2^53-1.
func (req *Request) HasSafeID() bool { return !isUnsafeInteger(req.Message.ID) }
