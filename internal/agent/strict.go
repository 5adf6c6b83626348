package agent

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// codeNotFound is the code of the error for an unknown resource in the revisions that this server
// speaks. The SDK sends the code of a later revision.
const codeNotFound = -32002

// rejectInvalidRequests is middleware that rejects some requests as the specification says: those
// that the SDK would accept, and those that it would reject with another error.
func (t *tools) rejectInvalidRequests(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if method == "logging/setLevel" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this server does not log"}
		}
		switch p := r.GetParams().(type) {
		case *mcp.InitializeParams:
			if p == nil || p.ProtocolVersion == "" || p.ClientInfo == nil || p.Capabilities == nil {
				return nil, invalidParams(errors.New("initialize needs protocolVersion, capabilities and clientInfo"))
			}
		case *mcp.ReadResourceParams:
			if p != nil && p.URI != "" && !t.hasReport(p.URI) {
				data, err := json.Marshal(map[string]string{"uri": p.URI})
				if err != nil {
					return nil, err
				}
				return nil, &jsonrpc.Error{Code: codeNotFound, Message: "there is no such report", Data: data}
			}
		}
		return next(ctx, method, r)
	}
}

// invalidParams returns the error for a request with wrong parameters.
func invalidParams(err error) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
}
