package faults

import (
	"io"
	"net/http"
	"sync"

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

// accountFaults leave HTTP requests without the response that each has to get.
func accountFaults() []Fault {
	const response, served = "base.http-response/", "base.http-legal-request-served/"
	cancels := func(v *visit) bool { return v.has(wire.Notification, spec.MethodCancelled) }
	endedOnes := func(do func(v *visit)) func() refserver.Seams {
		return func() refserver.Seams {
			var mu sync.Mutex
			gone := map[string]bool{}
			return visits(func(v *visit) bool {
				mu.Lock()
				defer mu.Unlock()
				id := v.r.Header.Get(sessionHeader)
				was := gone[id]
				gone[id] = was || deletes(v) && id != ""
				return was && !deletes(v)
			}, do)
		}
	}
	return []Fault{
		breaks(response+"delete-closes", "DELETE ends the connection without a response", visits(deletes, closes)),
		breaks(response+"delete-silent", "DELETE is never responded to", visits(deletes, never)),
		breaks(response+"delete-garbled", "DELETE is answered with text that is not HTTP", visits(deletes, garbles)),
		breaks(response+"cancelled-closes", "notifications/cancelled is handled, and the connection closed without a response", visits(cancels, func(v *visit) {
			v.next.ServeHTTP(discarded{}, v.r)
			closes(v)
		})),
		breaks(response+"cancelled-silent", "notifications/cancelled is handled, and never responded to", visits(cancels, func(v *visit) {
			v.next.ServeHTTP(discarded{}, v.r)
			never(v)
		})),
		breaksAfresh("streamable-http.session-terminated-404/closes", "a request with the id of an ended session ends the connection without a response", endedOnes(closes)),
		breaks("streamable-http.version-header-invalid-400/closes", "a request with an unknown version header ends the connection without a response", visits(func(v *visit) bool {
			version := v.r.Header.Get(versionHeader)
			return version != "" && !spec.Revision(version).Published()
		}, closes)),
		breaks(served+"delete-500", "DELETE ends the session and is refused with 500", visits(deletes, func(v *visit) {
			v.next.ServeHTTP(discarded{}, v.r)
			says(http.StatusInternalServerError)(v)
		})),
		breaks("ping.responds/http-malformed", "every ping is refused as if it were no JSON", visits(asking(spec.MethodPing), unparsed)),
		breaks("ping.responds/http-all-malformed", "after initialize every request is refused as if it were no JSON", visits(asking(), unparsed)),
		breaks("lifecycle.initialize-response/http-malformed", "every initialize is refused as if it were no JSON", visits(initializes, unparsed)),
		breaks("lifecycle.initialize-response/http-fails", "every initialize is refused with 500 and an error without an id", visits(initializes,
			answers(http.StatusInternalServerError, jsonType, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"internal error"}}`))),
		breaks("lifecycle.initialize-response/http-empty-stream", "every initialize gets a stream that ends without the response", visits(initializes, answers(http.StatusOK, streamType, ": welcome\n\n"))),
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
	}
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
