package faults

import (
	"net/http"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func tellsOfChange(event []byte) bool {
	return carries(event, wire.Notification, spec.MethodResourcesUpdated, spec.MethodResourcesChanged, spec.MethodToolsChanged, spec.MethodPromptsChanged)
}

// welcome reports whether a GET opens a stream anew, and has nothing for which the
// server would refuse it.
func welcome(v *visit) bool {
	version := spec.Revision(v.r.Header.Get(versionHeader))
	return listens(v) && v.r.Header.Get("Origin") == "" && (version == "" || version.Published())
}

// spokenOn puts an event that tells of a change on streams of a session that
// listens on several, and returns what remains for that of the call.
type spokenOn func(e *ears, session string, event []byte) []byte

// onNewest tells of a change on the newest stream.
func onNewest(e *ears, session string, event []byte) []byte {
	if e.count(session) < 2 {
		return event
	}
	e.say(session, withoutID(event))
	return nil
}

// onEach tells of a change on each stream.
func onEach(e *ears, session string, event []byte) []byte {
	if e.count(session) < 2 {
		return event
	}
	e.repeat(session, withoutID(event))
	return nil
}

// onEachInTurn makes three changes of one, and tells of each on another stream.
func onEachInTurn() spokenOn {
	var turn atomic.Int64
	return func(e *ears, session string, event []byte) []byte {
		var rest []byte
		for range 3 {
			if !e.sayInTurn(session, int(turn.Add(1)), withoutID(event)) {
				rest = append(rest, withoutID(event)...)
			}
		}
		return rest
	}
}

// broadcast keeps all streams open that a session listens on.
func broadcast(tell spokenOn) refserver.Seams {
	e := newEars()
	diverts := func(session string) func([]byte) []byte {
		return func(b []byte) []byte {
			if !tellsOfChange(b) {
				return b
			}
			return tell(e, session, b)
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

// sayInTurn writes on one of several streams that the session listens on.
func (e *ears) sayInTurn(session string, turn int, b []byte) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	open := e.open[session]
	if len(open) < 2 {
		return false
	}
	open[turn%len(open)].put(b)
	return true
}
