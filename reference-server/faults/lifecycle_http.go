package faults

import (
	"net/http"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// lifecycleHTTPFaults returns the faults in the lifecycle that show only over HTTP.
func lifecycleHTTPFaults() []*Fault {
	return append(restrictTransports([]spec.Transport{spec.StreamableHTTP}, []*Fault{
		newFault("lifecycle.initialize-response/http-malformed", "every initialize gets a parse error", onExchange(isInitialize, refuseAsUnparsable)),
		newFault("lifecycle.initialize-response/http-fails", "every initialize is refused with 500 and an error without an id", onExchange(isInitialize,
			respond(http.StatusInternalServerError, jsonType, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"internal error"}}`))),
		newFault("lifecycle.initialize-response/http-empty-stream", "every initialize gets a stream that ends without the response", onExchange(isInitialize, respond(http.StatusOK, streamType, ": welcome\n\n"))),
		newFaultWithState("lifecycle.shutdown-http/dies", "the server ends when a client closes its stream", func() *refserver.Seams {
			return onExchange(opensListeningStream, func(v *exchange) {
				v.serve()
				if v.r.Context().Err() != nil {
					closeServer(v.r)
				}
			})
		}).inRevisions(spec.V20250326, spec.V20250618, spec.V20251125).withOwnServer(),
	}), newFault("lifecycle.shutdown-http/stream-dies", "the server ends when a stream is closed", onExchange(opensListeningStream, func(v *exchange) {
		v.serve()
		closeServer(v.r)
	})).withOwnServer().inRevisions(spec.V20241105).overTransports(spec.SSE))
}
