package faults

import (
	"bytes"
	"io"
	"net/http"
	"strconv"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// closes closes the connection without a response, as a server in Go does whose
// handler panics.
func closes(*visit) { panic(http.ErrAbortHandler) }

// never leaves the request without a response until the client goes.
func never(v *visit) { <-v.r.Context().Done() }

// garbles answers with text that is not HTTP.
func garbles(v *visit) {
	h, ok := v.w.(http.Hijacker)
	if !ok {
		closes(v)
	}
	conn, _, err := h.Hijack()
	if err != nil {
		closes(v)
	}
	_, _ = io.WriteString(conn, "500 something went wrong\n")
	_ = conn.Close()
}

// byMethod returns what picks the requests with an HTTP method.
func byMethod(name string) func(v *visit) bool {
	return func(v *visit) bool { return v.r.Method == name }
}

// httpFaults leave HTTP requests without the response that each has to get, or
// give one that is no message.
func httpFaults() []Fault {
	const response, served = "base.http-response/", "base.http-legal-request-served/"
	cancels := func(v *visit) bool { return v.has(wire.Notification, spec.MethodCancelled) }
	garbage := func(v *visit) bool { return v.frame != nil && !v.frame.Readable() }
	return append(overAll([]spec.Transport{spec.StreamableHTTP}, []Fault{
		breaks(response+"delete-closes", "DELETE ends the connection without a response", visits(deletes, closes)),
		breaks(response+"delete-silent", "DELETE is never responded to", visits(deletes, never)),
		breaks(response+"delete-garbled", "DELETE is answered with text that is not HTTP", visits(deletes, garbles)),
		breaks(response+"delete-cut", "DELETE gets a body that is shorter than its Content-Length", visits(deletes, func(v *visit) {
			v.next.ServeHTTP(discarded{}, v.r)
			v.w.Header().Set("Content-Length", "100")
			says(http.StatusOK)(v)
		})),
		breaks(response+"refusal-cut", "what refuses a request is shorter than its Content-Length", alters(anyVisit, func(_ *visit, r *reply) {
			r.head = func(status int, h http.Header, first []byte) int {
				if status >= http.StatusBadRequest {
					h.Set("Content-Length", strconv.Itoa(len(first)+2))
				}
				return status
			}
		})),
		breaks(response+"cancelled-closes", "notifications/cancelled is handled, and the connection closed without a response", visits(cancels, func(v *visit) {
			v.next.ServeHTTP(discarded{}, v.r)
			closes(v)
		})),
		breaks(response+"cancelled-silent", "notifications/cancelled is handled, and never responded to", visits(cancels, func(v *visit) {
			v.next.ServeHTTP(discarded{}, v.r)
			never(v)
		})),
		breaks(served+"delete-500", "DELETE ends the session and is refused with 500", visits(deletes, func(v *visit) {
			v.next.ServeHTTP(discarded{}, v.r)
			says(http.StatusInternalServerError)(v)
		})),
		breaks(response+"head-silent", "HEAD is never responded to", visits(byMethod(http.MethodHead), never)),
		breaks(response+"options-closes", "OPTIONS ends the connection without a response", visits(byMethod(http.MethodOptions), closes)),
		breaksAfresh(served+"head-ends", "HEAD ends the session", func() refserver.Seams {
			return visits(byMethod(http.MethodHead), func(v *visit) {
				end := v.r.Clone(v.r.Context())
				end.Method = http.MethodDelete
				v.unheard(end)
				v.w.WriteHeader(http.StatusOK)
			})
		}),
		breaks(served+"templates-500", "resources/templates/list is refused with 500 and plain text", visits(asking(spec.MethodResourcesTemplates), says(http.StatusInternalServerError))),
		breaks(served+"completion-500", "completion/complete is refused with 500 and plain text", visits(asking(spec.MethodComplete), says(http.StatusInternalServerError))),
		breaks("base.parse-error-http/202", "a body that is no JSON is accepted", visits(garbage, answers(http.StatusAccepted, "", ""))),
		breaks("base.parse-error-http/200", "a body that is no JSON gets 200 and the error", visits(garbage,
			answers(http.StatusOK, jsonType, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`))).in(spec.V20250326),
		breaks("base.parse-error-http/other-code", "a body that is no JSON gets the error -32600", visits(garbage,
			answers(http.StatusBadRequest, jsonType, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"}}`))),
		breaks("base.batch-responses-complete/http", "the body that answers a batch lacks the last response", bodies(func(v *visit) bool { return v.frame != nil && v.frame.Batch },
			func(b []byte) []byte {
				elements := split(b)
				return append(append([]byte("["), bytes.Join(elements[:max(0, len(elements)-1)], []byte(","))...), ']')
			})).in(spec.V20250326),
		breaks("base.jsonrpc-2-0/done", "streams end with the event [DONE]", events(posts, func(b []byte) []byte {
			if bringsResponse(b) {
				return append(b, "data: [DONE]\n\n"...)
			}
			return b
		})),
		breaks("base.jsonrpc-2-0/open", "streams begin with an event that says hello", events(posts, func(b []byte) []byte {
			if isPriming(b) {
				return append(b, "data: {\"status\":\"connected\"}\n\n"...)
			}
			return b
		})).in(spec.V20251125),
	}), breaksAfresh("base.http-response/gone-endpoint", "messages for a stream that is closed are never responded to", func() refserver.Seams {
		return goneEndpoint(never)
	}).in(spec.V20241105).over(spec.SSE))
}

// unparsed refuses a request as a server does that could not parse it.
var unparsed = answers(http.StatusBadRequest, jsonType, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`)

// discarded takes a response that goes nowhere.
type discarded struct{}

// Header implements http.ResponseWriter.
func (discarded) Header() http.Header { return http.Header{} }

// Write implements http.ResponseWriter.
func (discarded) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements http.ResponseWriter.
func (discarded) WriteHeader(int) {}
