package refserver

import (
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// An Error is the error of a JSON-RPC response.
type Error struct {
	Code    spec.Code
	Message string
	Data    any // left out when nil
	// Status is the HTTP status of the response in revision 2026-07-28. If it is 0, the status
	// depends on the code.
	Status int
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// NoResponse is the error that a handler or a Handle seam returns to suppress the response.
var NoResponse = &Error{Message: "no response"}

func invalidRequest(format string, args ...any) *Error {
	return &Error{Code: spec.CodeInvalidRequest, Message: "Invalid request: " + fmt.Sprintf(format, args...)}
}

func invalidParams(format string, args ...any) *Error {
	return &Error{Code: spec.CodeInvalidParams, Message: "Invalid params: " + fmt.Sprintf(format, args...)}
}

// errorFrame returns the bytes of an error response. If the request's id could not
// be read, JSON-RPC requires id null; the schemas since 2025-11-25 omit the id.
func errorFrame(r spec.Revision, id wire.ID, e *Error) []byte {
	if id.IsPresent() || !r.AtLeast(spec.V20251125) {
		return wire.NewError(id, int64(e.Code), e.Message, e.Data)
	}
	body := object{"code": e.Code, "message": e.Message}
	if e.Data != nil {
		body["data"] = e.Data
	}
	return wire.JSON(object{"jsonrpc": "2.0", "error": body})
}
