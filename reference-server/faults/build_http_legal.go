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

func (r *reply) begun() bool { r.mu.Lock(); defer r.mu.Unlock(); return r.wrote }

// streamed makes a stream of each answer of JSON.
func streamed() refserver.Seams {
	var n atomic.Int64
	return alters(asking(spec.MethodInitialize, spec.MethodPing, spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodResourcesRead, spec.MethodPromptsGet),
		func(_ *visit, r *reply) {
			made := false
			r.head = func(status int, h http.Header, first []byte) int {
				if status == http.StatusOK && h.Get("Content-Type") == jsonType && len(first) > 0 && first[0] == '{' {
					h.Set("Content-Type", streamType)
					made = true
				}
				return status
			}
			r.edit = func(b []byte) []byte {
				if !made {
					return b
				}
				return fmt.Appendf(nil, "id: made-%d\ndata:\n\ndata: %s\n\n", n.Add(1), b)
			}
		})
}

// sessionless does without session ids: what comes without one belongs to the
// session that began last.
func sessionless() refserver.Seams {
	m := &members{}
	return alters(anyVisit, func(v *visit, r *reply) {
		if !initializes(v) {
			v.r.Header.Set(sessionHeader, m.latest())
		}
		if deletes(v) {
			v.next = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) })
		}
		m.joins(v, r)
		noted := r.head
		r.head = func(status int, h http.Header, first []byte) int {
			status = noted(status, h, first)
			h.Del(sessionHeader)
			return status
		}
	})
}

// errorStatus gives errors that answer requests a status of their own.
func errorStatus(status int) refserver.Seams {
	return alters(asking(), func(_ *visit, r *reply) {
		r.head = func(old int, h http.Header, first []byte) int {
			if old == http.StatusOK && h.Get("Content-Type") == jsonType && bytes.Contains(first, []byte(`"error":{`)) && wire.Parse(first).Messages[0].IsError() {
				return status
			}
			return old
		}
	})
}

// refusedWith gives what HTTP alone refuses another body.
func refusedWith(media, body string) refserver.Seams {
	return visits(anyVisit, func(v *visit) {
		r := &reply{ResponseWriter: v.w}
		refused := false
		r.head = func(status int, h http.Header, _ []byte) int {
			if refused = status >= 400; refused {
				h.Del("Content-Type")
				if media != "" {
					h.Set("Content-Type", media)
				}
			}
			return status
		}
		r.edit = func(b []byte) []byte {
			if refused {
				return []byte(body)
			}
			return b
		}
		v.next.ServeHTTP(r, v.r)
		r.finish()
	})
}

// redirects sends clients from /mcp to /mcp/.
func redirects(status int) refserver.Seams {
	return visits(func(v *visit) bool { return !strings.HasSuffix(v.r.URL.Path, "/") }, func(v *visit) {
		v.w.Header().Set("Location", v.r.URL.Path+"/")
		v.w.WriteHeader(status)
	})
}

// renamedEvents writes the ids of events in other words.
func renamedEvents() refserver.Seams {
	const mark = "é / ☃ {\"n\":"
	return together(visits(resumes, func(v *visit) {
		id := strings.TrimPrefix(v.r.Header.Get(eventHeader), mark)
		v.r.Header.Set(eventHeader, id)
		v.serve()
	}), events(anyVisit, func(b []byte) []byte { return bytes.Replace(b, []byte("id: "), []byte("id: "+mark), 1) }))
}

// numbered numbers the events of a stream that has no ids.
func numbered() refserver.Seams {
	var mu sync.Mutex
	n := 0
	return events(listens, func(b []byte) []byte {
		mu.Lock()
		defer mu.Unlock()
		n++
		return append(fmt.Appendf(nil, "id: %d\nretry: 3000\n", n), b...)
	})
}
