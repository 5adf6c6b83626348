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

// lately is longer than nothing is waited for on a server that is quick else.
const lately = 300 * time.Millisecond

// legalLegacy are those of HTTP with SSE.
func legalLegacy() []Fault {
	acknowledged := func(status int, media, body string) refserver.Seams {
		return visits(posts, func(v *visit) {
			r := &reply{ResponseWriter: v.w}
			v.next.ServeHTTP(r, v.r)
			if r.status == http.StatusAccepted {
				r.status = status
				r.Header().Set("Content-Type", media)
				if body != "" {
					r.put([]byte(body))
				}
			}
			r.finish()
		})
	}
	return []Fault{
		legal("sse-absolute-endpoint", "the endpoint is announced as a whole URL", alters(listens, func(v *visit, r *reply) {
			r.edit = func(b []byte) []byte {
				if isEndpoint(b) {
					return bytes.Replace(b, []byte("data: "), []byte("data: http://"+v.r.Host), 1)
				}
				return b
			}
		})),
		legal("sse-relative-endpoint", "the endpoint is announced without a path", endpoint(func(uri string) string {
			_, query, _ := strings.Cut(uri, "?")
			return "?" + query
		})),
		legal("sse-longer-endpoint", "the endpoint has more in its query", endpoint(func(uri string) string { return uri + "&a=%20b&c" })),
		legal("sse-200", "messages get 200 and a text", acknowledged(http.StatusOK, "text/plain", "Accepted")),
		legal("sse-204", "messages get 204", acknowledged(http.StatusNoContent, "text/plain", "")),
		legal("sse-202-text", "messages get 202 and a text", acknowledged(http.StatusAccepted, "text/plain; charset=utf-8", "Accepted")),
		legal("sse-late", "tools/list takes far longer than all other requests", Handle(spec.MethodToolsList, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			<-time.After(lately)
			return next(c)
		})),
		legal("sse-ids", "events have ids", numbered()),
		legal("sse-ping-comments", "comments keep the stream alive", visits(listens, func(v *visit) {
			r := &reply{ResponseWriter: v.w}
			done := make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() {
				for {
					select {
					case <-done:
						return
					case <-time.After(50 * time.Millisecond):
						if r.begun() {
							r.put([]byte(": ping\n\n"))
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
