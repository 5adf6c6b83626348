package faults

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// secretFaults returns the faults that log credentials.
func secretFaults() []*Fault {
	const web = spec.StreamableHTTP
	return []*Fault{
		newFault("logging.no-secrets/credentials", "the server logs the headers of every request", onExchange(anyExchange, logHeaders(func(h http.Header) any { return h }))).overTransports(web),
	}
}

// legalSecrets returns the legal variations in logging headers.
func legalSecrets() []*Fault {
	return []*Fault{
		newVariation("http-logs-header-names", "the server logs header names and the length of the Authorization header", onExchange(anyExchange, logHeaders(func(h http.Header) any {
			names := map[string]any{"authorization": len(h.Get("Authorization"))}
			for name := range h {
				names[name] = "***"
			}
			return names
		}))).overTransports(spec.StreamableHTTP),
	}
}

// logHeaders adds a log message to each response that is a stream. data returns the data of
// the message, given the request's headers.
func logHeaders(data func(h http.Header) any) func(v *exchange) {
	return func(v *exchange) {
		r := &responseEditor{ResponseWriter: v.w}
		sent := false
		r.editBody = func(b []byte) []byte {
			if sent || !r.isStream() {
				return b
			}
			sent = true
			log := wire.NewNotification(spec.MethodMessage, map[string]any{"level": "emergency", "data": data(v.r.Header)})
			event := slices.Concat([]byte("data: "), log, []byte("\n\n"))
			if bytes.Contains(b, []byte(`"jsonrpc"`)) { // no event may follow the response
				return slices.Concat(event, b)
			}
			return slices.Concat(b, event)
		}
		v.next.ServeHTTP(r, v.r)
		r.finish()
	}
}
