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

// closeWithoutResponse closes the connection without a response, as a Go server does
// when a handler panics.
func closeWithoutResponse(*exchange) { panic(http.ErrAbortHandler) }

// neverRespond sends no response and returns when the client disconnects.
func neverRespond(v *exchange) { <-v.r.Context().Done() }

// respondWithGarbage responds with text that is not HTTP.
func respondWithGarbage(v *exchange) {
	h, ok := v.w.(http.Hijacker)
	if !ok {
		closeWithoutResponse(v)
	}
	conn, _, err := h.Hijack()
	if err != nil {
		closeWithoutResponse(v)
	}
	_, _ = io.WriteString(conn, "500 something went wrong\n")
	_ = conn.Close()
}

// hasHTTPMethod returns a function that matches requests with an HTTP method.
func hasHTTPMethod(name string) func(v *exchange) bool {
	return func(v *exchange) bool { return v.r.Method == name }
}

// httpFaults returns the faults that send no response, or an invalid one, to an HTTP
// request.
func httpFaults() []*Fault {
	const response, served = "base.http-response/", "base.http-legal-request-served/"
	cancels := func(v *exchange) bool { return v.has(wire.Notification, spec.MethodCancelled) }
	garbage := func(v *exchange) bool { return v.frame != nil && !v.frame.IsReadable() }
	return append(restrictTransports([]spec.Transport{spec.StreamableHTTP}, []*Fault{
		newFault(response+"delete-closes", "DELETE ends the connection without a response", onExchange(isDelete, closeWithoutResponse)),
		newFault(response+"delete-silent", "DELETE gets no response", onExchange(isDelete, neverRespond)),
		newFault(response+"delete-garbled", "DELETE gets text that is not HTTP", onExchange(isDelete, respondWithGarbage)),
		newFault(response+"delete-cut", "DELETE gets a body that is shorter than its Content-Length", onExchange(isDelete, func(v *exchange) {
			v.next.ServeHTTP(discardingWriter{}, v.r)
			v.w.Header().Set("Content-Length", "100")
			respondText(http.StatusOK)(v)
		})),
		newFault(response+"refusal-cut", "a refusal has a body that is shorter than its Content-Length", editResponses(anyExchange, func(_ *exchange, r *responseEditor) {
			r.editHead = func(status int, h http.Header, first []byte) int {
				if status >= http.StatusBadRequest {
					h.Set("Content-Length", strconv.Itoa(len(first)+2))
				}
				return status
			}
		})),
		newFault(response+"cancelled-closes", "the server handles notifications/cancelled, then closes the connection without a response", onExchange(cancels, func(v *exchange) {
			v.next.ServeHTTP(discardingWriter{}, v.r)
			closeWithoutResponse(v)
		})),
		newFault(response+"cancelled-silent", "the server handles notifications/cancelled, then never responds", onExchange(cancels, func(v *exchange) {
			v.next.ServeHTTP(discardingWriter{}, v.r)
			neverRespond(v)
		})),
		newFault(served+"delete-500", "DELETE ends the session but gets 500", onExchange(isDelete, func(v *exchange) {
			v.next.ServeHTTP(discardingWriter{}, v.r)
			respondText(http.StatusInternalServerError)(v)
		})),
		newFault(response+"tool-closes", "tools/call of a tool that exists ends the connection without a response", onExchange(hasRequestOf(spec.MethodToolsCall), func(v *exchange) {
			if name, _ := wire.Text(v.frame.Messages[0].ParamAt("/name")); name == "echo" {
				closeWithoutResponse(v)
				return
			}
			v.next.ServeHTTP(v.w, v.r)
		})),
		newFault(response+"head-silent", "HEAD gets no response", onExchange(hasHTTPMethod(http.MethodHead), neverRespond)),
		newFault(response+"options-closes", "OPTIONS ends the connection without a response", onExchange(hasHTTPMethod(http.MethodOptions), closeWithoutResponse)),
		newFaultWithState(served+"head-ends", "HEAD ends the session", func() *refserver.Seams {
			return onExchange(hasHTTPMethod(http.MethodHead), func(v *exchange) {
				end := v.r.Clone(v.r.Context())
				end.Method = http.MethodDelete
				v.serveDiscarding(end)
				v.w.WriteHeader(http.StatusOK)
			})
		}),
		newFault(served+"templates-500", "resources/templates/list gets 500 and plain text", onExchange(hasRequestOf(spec.MethodResourcesTemplates), respondText(http.StatusInternalServerError))),
		newFault(served+"completion-500", "completion/complete gets 500 and plain text", onExchange(hasRequestOf(spec.MethodComplete), respondText(http.StatusInternalServerError))),
		newFault("base.parse-error-http/202", "a body that is not JSON gets 202", onExchange(garbage, respond(http.StatusAccepted, "", ""))),
		newFault("base.parse-error-http/200", "a body that is not JSON gets 200 and the error", onExchange(garbage,
			respond(http.StatusOK, jsonType, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`))).inRevisions(spec.V20250326),
		newFault("base.parse-error-http/other-code", "a body that is not JSON gets the error -32600", onExchange(garbage,
			respond(http.StatusBadRequest, jsonType, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"}}`))),
		newFault("base.batch-responses-complete/http", "the response to a batch lacks the last element", editBodies(func(v *exchange) bool { return v.frame != nil && v.frame.Batch },
			func(b []byte) []byte {
				elements := splitArray(b)
				return append(append([]byte("["), bytes.Join(elements[:max(0, len(elements)-1)], []byte(","))...), ']')
			})).inRevisions(spec.V20250326),
		newFault("base.jsonrpc-2-0/done", "streams end with the data [DONE]", editEvents(isPost, func(b []byte) []byte {
			if eventHasResponse(b) {
				return append(b, "data: [DONE]\n\n"...)
			}
			return b
		})),
		newFault("base.jsonrpc-2-0/open", "streams begin with an event that is not JSON-RPC", editEvents(isPost, func(b []byte) []byte {
			if isPriming(b) {
				return append(b, "data: {\"status\":\"connected\"}\n\n"...)
			}
			return b
		})).inRevisions(spec.V20251125),
	}), newFaultWithState("base.http-response/gone-endpoint", "messages for a closed stream get no HTTP response", func() *refserver.Seams {
		return onClosedStream(neverRespond)
	}).inRevisions(spec.V20241105).overTransports(spec.SSE))
}

// refuseAsUnparsable refuses a request with a parse error.
var refuseAsUnparsable = respond(http.StatusBadRequest, jsonType, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`)

// discardingWriter is an http.ResponseWriter that discards the response.
type discardingWriter struct{}

// Header implements http.ResponseWriter.
func (discardingWriter) Header() http.Header { return http.Header{} }

// Write implements http.ResponseWriter.
func (discardingWriter) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements http.ResponseWriter.
func (discardingWriter) WriteHeader(int) {}
