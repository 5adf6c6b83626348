package rules

import (
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Request is a request of the client.
type Request struct {
	*transcript.Request
	// WellFormed: a receiver has no reason in JSON-RPC, nor in JSON, to refuse it.
	WellFormed bool
	// Cancelled: the client cancelled it, or its id before it was made; an
	// answer may come, or not.
	Cancelled bool

	isStrictJSON      bool // its frame is flawless JSON
	batched           bool
	reused            bool // the id was used before
	due               bool // it was sent at a time at which a server has to answer it
	refused           bool // by an HTTP status, or there was no connection
	beforeInitialized bool // a ping between the answer to initialize and initialized
	whileOpen         bool // it was sent when the session was open for all requests
	overdue           *transcript.Event
	// excusable: the client had sent something illegal before it was overdue.
	excusable bool
	// disrupted: it was overdue after something that a server has to survive,
	// which is judged instead.
	disrupted bool
	// misidentified is the response that was meant for it and has not its id.
	misidentified *stray
}

// Succeeded reports whether its first answer is a result.
func (req *Request) Succeeded() bool {
	return len(req.Responses) > 0 && req.Responses[0].Has("result") && !req.Responses[0].IsError()
}

// IsOverloaded reports whether the answer to it is an error by which the server says
// that it has no time now, which says nothing on the matter.
func (req *Request) IsOverloaded() bool {
	return len(req.Responses) > 0 && req.Responses[0].IsError() && req.Responses[0].IsOverloadError()
}

// MayBeCancelled reports whether the client cancelled it and the answer is an error,
// of which that may be the reason.
func (req *Request) MayBeCancelled() bool {
	return req.Cancelled && len(req.Responses) > 0 && req.Responses[0].IsError()
}

// IsRegular reports whether the request is well formed, has an id of its own, and
// was sent when the handshake was done: so that the response depends on
// nothing but the method. It may be part of a batch.
func (req *Request) IsRegular() bool { return req.WellFormed && !req.reused && req.whileOpen }

// HasLegalID reports whether the id is of a type that a request may have.
func (req *Request) HasLegalID() bool { return isLegalID(req.Message.ID) }

func isLegalID(id wire.ID) bool { return id.IsString() || id.IsInteger() }

// isWellFormed reports whether m is a request as JSON-RPC 2.0 and MCP write it.
func isWellFormed(m *wire.Message) bool {
	return hasVersion(m) && m.Method != "" && isLegalID(m.ID) && hasStructuredParams(m) && !hasOtherMembers(m) && hasLegalMeta(m) && hasNumbersInRange(m)
}

// hasOtherMembers reports whether m has members that no request has. No sentence says
// that a server ignores them, so it may refuse them.
func hasOtherMembers(m *wire.Message) bool {
	for name := range m.Members {
		switch name {
		case "jsonrpc", "id", "method", "params":
		default:
			return true
		}
	}
	return false
}

// hasNumbersInRange reports whether m holds no number that a reader of JSON may refuse for
// its size. Ids have a rule of their own.
func hasNumbersInRange(m *wire.Message) bool {
	for name, value := range m.Members {
		if name != "id" && wire.OutOfRange(value) {
			return false
		}
	}
	return true
}

// hasLegalMeta reports whether the params have no _meta that a receiver may refuse.
func hasLegalMeta(m *wire.Message) bool {
	meta := wire.At(m.Params(), "/_meta")
	if meta == nil {
		return true
	}
	token := wire.At(meta, "/progressToken")
	return meta.Kind() == '{' && (token == nil || isLegalID(wire.RawID(string(token))))
}

func hasVersion(m *wire.Message) bool {
	version, _ := wire.Text(m.Member("jsonrpc"))
	return version == "2.0"
}

func hasStructuredParams(m *wire.Message) bool {
	return !m.Has("params") || m.Params().Kind() == '{'
}
