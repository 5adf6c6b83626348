package faults

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// secretFaults log what nobody should read.
func secretFaults() []Fault {
	const web = spec.StreamableHTTP
	return []Fault{
		breaks("logging.no-secrets/credentials", "the headers of every request are logged", visits(anyVisit, logsHeaders(func(h http.Header) any { return h }))).over(web),
	}
}

// legalSecrets are the variations of that.
func legalSecrets() []Fault {
	return []Fault{
		legal("http-logs-header-names", "the names of the headers of every request are logged, and how long what authorizes it is", visits(anyVisit, logsHeaders(func(h http.Header) any {
			names := map[string]any{"authorization": len(h.Get("Authorization"))}
			for name := range h {
				names[name] = "***"
			}
			return names
		}))).over(spec.StreamableHTTP),
	}
}

// logsHeaders puts what it is told of the client's headers into the stream of its answer.
func logsHeaders(tell func(h http.Header) any) func(v *visit) {
	return func(v *visit) {
		r := &reply{ResponseWriter: v.w}
		told := false
		r.edit = func(b []byte) []byte {
			if told || !r.streams() {
				return b
			}
			told = true
			log := wire.NewNotification(spec.MethodMessage, map[string]any{"level": "emergency", "data": tell(v.r.Header)})
			event := slices.Concat([]byte("data: "), log, []byte("\n\n"))
			if bytes.Contains(b, []byte(`"jsonrpc"`)) { // behind a response nothing may come
				return slices.Concat(event, b)
			}
			return slices.Concat(b, event)
		}
		v.next.ServeHTTP(r, v.r)
		r.finish()
	}
}
