package refserver

import (
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Error is the error of a response.
type Error struct {
	Code    spec.Code
	Message string
	Data    any // left out when nil
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Unanswered leaves a request without an answer; Handle seams return it.
var Unanswered = &Error{Message: "no answer is to be sent"}

func invalidRequest(format string, args ...any) *Error {
	return &Error{Code: spec.CodeInvalidRequest, Message: "Invalid request: " + fmt.Sprintf(format, args...)}
}

func invalidParams(format string, args ...any) *Error {
	return &Error{Code: spec.CodeInvalidParams, Message: "Invalid params: " + fmt.Sprintf(format, args...)}
}

// errorFrame returns the bytes of an error response. Where the request's id
// could not be read, JSON-RPC wants null; 2025-11-25 alone leaves the id out.
func errorFrame(r spec.Revision, id wire.ID, e *Error) []byte {
	if id.Present() || r != spec.V20251125 {
		return wire.NewError(id, int64(e.Code), e.Message, e.Data)
	}
	body := object{"code": e.Code, "message": e.Message}
	if e.Data != nil {
		body["data"] = e.Data
	}
	return wire.JSON(object{"jsonrpc": "2.0", "error": body})
}
