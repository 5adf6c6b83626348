package faults

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func itoa(n int) string { return strconv.Itoa(n) }

func (r *responseEditor) hasStarted() bool { r.mu.Lock(); defer r.mu.Unlock(); return r.headSent }

// respondWithStreams turns the JSON responses to the most common requests into event
// streams.
func respondWithStreams() *refserver.Seams {
	var n atomic.Int64
	return editResponses(hasRequestOf(spec.MethodInitialize, spec.MethodPing, spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodResourcesRead, spec.MethodPromptsGet),
		func(_ *exchange, r *responseEditor) {
			made := false
			r.editHead = func(status int, h http.Header, first []byte) int {
				if status == http.StatusOK && h.Get("Content-Type") == jsonType && len(first) > 0 && first[0] == '{' {
					h.Set("Content-Type", streamType)
					made = true
				}
				return status
			}
			r.editBody = func(b []byte) []byte {
				if !made {
					return b
				}
				return fmt.Appendf(nil, "id: made-%d\ndata:\n\ndata: %s\n\n", n.Add(1), b)
			}
		})
}

// withoutSessionIDs sends no session ids. Each request belongs to the newest session, and
// DELETE gets 405.
func withoutSessionIDs() *refserver.Seams {
	m := &sessionList{}
	return editResponses(anyExchange, func(v *exchange, r *responseEditor) {
		if !isInitialize(v) {
			v.r.Header.Set(sessionHeader, m.latest())
		}
		if isDelete(v) {
			v.next = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) })
		}
		m.track(v, r)
		noted := r.editHead
		r.editHead = func(status int, h http.Header, first []byte) int {
			status = noted(status, h, first)
			h.Del(sessionHeader)
			return status
		}
	})
}

// errorStatus sends JSON-RPC error responses, except those to initialize, with the given HTTP
// status instead of 200.
func errorStatus(status int) *refserver.Seams {
	return editResponses(hasRequestOf(), func(_ *exchange, r *responseEditor) {
		r.editHead = func(old int, h http.Header, first []byte) int {
			if old == http.StatusOK && h.Get("Content-Type") == jsonType && bytes.Contains(first, []byte(`"error":{`)) && wire.Parse(first).Messages[0].IsError() {
				return status
			}
			return old
		}
	})
}

// setRefusalBody replaces the bodies and the content types of HTTP error responses. If media is
// empty, these responses have no content type.
func setRefusalBody(media, body string) *refserver.Seams {
	return onExchange(anyExchange, func(v *exchange) {
		r := &responseEditor{ResponseWriter: v.w}
		refused := false
		r.editHead = func(status int, h http.Header, _ []byte) int {
			if refused = status >= 400; refused {
				h.Del("Content-Type")
				if media != "" {
					h.Set("Content-Type", media)
				}
			}
			return status
		}
		r.editBody = func(b []byte) []byte {
			if refused {
				return []byte(body)
			}
			return b
		}
		v.next.ServeHTTP(r, v.r)
		r.finish()
	})
}

// redirectEndpoint redirects clients from /mcp to /mcp/.
func redirectEndpoint(status int) *refserver.Seams {
	return onExchange(func(v *exchange) bool { return !strings.HasSuffix(v.r.URL.Path, "/") }, func(v *exchange) {
		v.w.Header().Set("Location", v.r.URL.Path+"/")
		v.w.WriteHeader(status)
	})
}

// prefixEventIDs adds a prefix with unusual characters to the ids of events.
func prefixEventIDs() *refserver.Seams {
	const mark = "é / ☃ {\"n\":"
	return combineSeams(onExchange(isResume, func(v *exchange) {
		id := strings.TrimPrefix(v.r.Header.Get(eventHeader), mark)
		v.r.Header.Set(eventHeader, id)
		v.serve()
	}), editEvents(anyExchange, func(b []byte) []byte { return bytes.Replace(b, []byte("id: "), []byte("id: "+mark), 1) }))
}

// numberEvents adds the fields id and retry to the events of streams that a GET opens. It is for
// HTTP+SSE, over which the reference server sends no ids.
func numberEvents() *refserver.Seams {
	var mu sync.Mutex
	n := 0
	return editEvents(opensListeningStream, func(b []byte) []byte {
		mu.Lock()
		defer mu.Unlock()
		n++
		return append(fmt.Appendf(nil, "id: %d\nretry: 3000\n", n), b...)
	})
}
