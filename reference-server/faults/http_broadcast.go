package faults

import (
	"net/http"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func tellsOfChange(event []byte) bool {
	return carries(event, wire.Notification, spec.MethodResourcesUpdated, spec.MethodResourcesChanged, spec.MethodToolsChanged, spec.MethodPromptsChanged)
}

// welcome tells whether a GET opens a stream anew, and has nothing for which the
// server would refuse it.
func welcome(v *visit) bool {
	version := spec.Revision(v.r.Header.Get(versionHeader))
	return listens(v) && v.r.Header.Get("Origin") == "" && (version == "" || version.Published())
}

// broadcast keeps all streams open that a session listens on; the changes come
// on each of them, or, with one alone, on the newest.
func broadcast(alone bool) refserver.Seams {
	e := newEars()
	diverts := func(session string) func([]byte) []byte {
		return func(b []byte) []byte {
			switch {
			case !tellsOfChange(b) || e.count(session) < 2:
				return b
			case alone:
				e.say(session, withoutID(b))
			default:
				e.repeat(session, withoutID(b))
			}
			return nil
		}
	}
	return together(harmless("update-resource"), alters(anyVisit, func(v *visit, r *reply) {
		session := v.r.Header.Get(sessionHeader)
		switch {
		case posts(v):
			divert := diverts(session)
			r.edit = func(b []byte) []byte {
				if !r.streams() {
					return b
				}
				return divert(b)
			}
		case welcome(v):
			first := e.count(session) == 0
			remove := e.add(session, r)
			served := v.next
			v.next = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				defer remove()
				if first {
					served.ServeHTTP(w, req)
					return
				}
				w.Header().Set("Content-Type", streamType)
				r.put([]byte(": welcome\n\n"))
				<-req.Context().Done()
			})
		}
	}))
}

// count returns how many streams the session listens on.
func (e *ears) count(session string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.open[session])
}

// repeat writes on all streams that the session listens on.
func (e *ears) repeat(session string, b []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.open[session] {
		r.put(b)
	}
}
