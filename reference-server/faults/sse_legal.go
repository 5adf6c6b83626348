package faults

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// longDelayOverSSE exceeds the time that the harness waits for a missing message of a server whose
// other messages arrive quickly.
const longDelayOverSSE = 300 * time.Millisecond

// legalSSE returns the legal variations in HTTP with SSE.
func legalSSE() []*Fault {
	acknowledged := func(status int, media, body string) *refserver.Seams {
		return onExchange(isPost, func(v *exchange) {
			r := &responseEditor{ResponseWriter: v.w}
			v.next.ServeHTTP(r, v.r)
			if r.status == http.StatusAccepted {
				r.status = status
				r.Header().Set("Content-Type", media)
				if body != "" {
					r.writeRaw([]byte(body))
				}
			}
			r.finish()
		})
	}
	return []*Fault{
		newVariation("sse-absolute-endpoint", "the endpoint is an absolute URL", editResponses(opensListeningStream, func(v *exchange, r *responseEditor) {
			r.editBody = func(b []byte) []byte {
				if isEndpoint(b) {
					return bytes.Replace(b, []byte("data: "), []byte("data: http://"+v.r.Host), 1)
				}
				return b
			}
		})),
		newVariation("sse-relative-endpoint", "the endpoint has only a query", editEndpoint(func(uri string) string {
			_, query, _ := strings.Cut(uri, "?")
			return "?" + query
		})),
		newVariation("sse-longer-endpoint", "the endpoint has additional query parameters", editEndpoint(func(uri string) string { return uri + "&a=%20b&c" })),
		newVariation("sse-200", "messages get 200 with text", acknowledged(http.StatusOK, "text/plain", "Accepted")),
		newVariation("sse-204", "messages get 204", acknowledged(http.StatusNoContent, "text/plain", "")),
		newVariation("sse-202-text", "messages get 202 with text", acknowledged(http.StatusAccepted, "text/plain; charset=utf-8", "Accepted")),
		newVariation("sse-late", "tools/list takes much longer than other requests", WrapHandler(spec.MethodToolsList, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			<-time.After(longDelayOverSSE)
			return next(c)
		})),
		newVariation("sse-ids", "events have ids", numberEvents()),
		newVariation("sse-ping-comments", "comments keep the stream alive", onExchange(opensListeningStream, func(v *exchange) {
			r := &responseEditor{ResponseWriter: v.w}
			done := make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() {
				for {
					select {
					case <-done:
						return
					case <-time.After(50 * time.Millisecond):
						if r.hasStarted() {
							r.writeRaw([]byte(": ping\n\n"))
						}
					}
				}
			})
			v.next.ServeHTTP(r, v.r)
			close(done)
			wg.Wait()
			r.finish()
		})),
	}
}
