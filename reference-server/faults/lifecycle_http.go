package faults

import (
	"net/http"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// lifecycleHTTPFaults are those in which HTTP fails the lifecycle.
func lifecycleHTTPFaults() []Fault {
	return append(overAll([]spec.Transport{spec.StreamableHTTP}, []Fault{
		breaks("lifecycle.initialize-response/http-malformed", "every initialize is refused as if it were no JSON", visits(initializes, unparsed)),
		breaks("lifecycle.initialize-response/http-fails", "every initialize is refused with 500 and an error without an id", visits(initializes,
			answers(http.StatusInternalServerError, jsonType, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"internal error"}}`))),
		breaks("lifecycle.initialize-response/http-empty-stream", "every initialize gets a stream that ends without the response", visits(initializes, answers(http.StatusOK, streamType, ": welcome\n\n"))),
		breaksAfresh("lifecycle.shutdown-http/dies", "the server ends when a client closes its stream", func() refserver.Seams {
			return visits(listens, func(v *visit) {
				v.serve()
				if v.r.Context().Err() != nil {
					shutsDown(v.r)
				}
			})
		}).in(spec.V20250326, spec.V20250618, spec.V20251125).alone(),
	}), breaks("lifecycle.shutdown-http/stream-dies", "the server ends when a stream is closed", visits(listens, func(v *visit) {
		v.serve()
		shutsDown(v.r)
	})).alone().in(spec.V20241105).over(spec.SSE))
}
