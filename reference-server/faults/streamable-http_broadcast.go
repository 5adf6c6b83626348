package faults

import (
	"net/http"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func isChangeEvent(event []byte) bool {
	return eventCarries(event, wire.Notification, spec.MethodResourcesUpdated, spec.MethodResourcesChanged, spec.MethodToolsChanged, spec.MethodPromptsChanged)
}

// isAcceptedListening reports whether a GET opens a stream anew, and has nothing for which the
// server would refuse it.
func isAcceptedListening(v *exchange) bool {
	version := spec.Revision(v.r.Header.Get(versionHeader))
	return opensListeningStream(v) && v.r.Header.Get("Origin") == "" && (version == "" || version.Published())
}

// changeNotifier puts an event that tells of a change on streams of a session that
// listens on several, and returns what remains for that of the call.
type changeNotifier func(e *listeningStreams, session string, event []byte) []byte

// onNewest tells of a change on the newest stream.
func onNewest(e *listeningStreams, session string, event []byte) []byte {
	if e.count(session) < 2 {
		return event
	}
	e.write(session, removeEventID(event))
	return nil
}

// onEach tells of a change on each stream.
func onEach(e *listeningStreams, session string, event []byte) []byte {
	if e.count(session) < 2 {
		return event
	}
	e.writeToAll(session, removeEventID(event))
	return nil
}

// onEachInTurn makes three changes of one, and tells of each on another stream.
func onEachInTurn() changeNotifier {
	var turn atomic.Int64
	return func(e *listeningStreams, session string, event []byte) []byte {
		var rest []byte
		for range 3 {
			if !e.writeInTurn(session, int(turn.Add(1)), removeEventID(event)) {
				rest = append(rest, removeEventID(event)...)
			}
		}
		return rest
	}
}

// broadcast keeps all streams open that a session listens on.
func broadcast(tell changeNotifier) refserver.Seams {
	e := newListeningStreams()
	diverts := func(session string) func([]byte) []byte {
		return func(b []byte) []byte {
			if !isChangeEvent(b) {
				return b
			}
			return tell(e, session, b)
		}
	}
	return combine(markReadOnly("update-resource"), editResponses(anyExchange, func(v *exchange, r *responseEditor) {
		session := v.r.Header.Get(sessionHeader)
		switch {
		case isPost(v):
			divert := diverts(session)
			r.editBody = func(b []byte) []byte {
				if !r.isStream() {
					return b
				}
				return divert(b)
			}
		case isAcceptedListening(v):
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
				r.writeRaw([]byte(": welcome\n\n"))
				<-req.Context().Done()
			})
		}
	}))
}

// count returns how many streams the session listens on.
func (e *listeningStreams) count(session string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.open[session])
}

// writeToAll writes on all streams that the session listens on.
func (e *listeningStreams) writeToAll(session string, b []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.open[session] {
		r.writeRaw(b)
	}
}

// writeInTurn writes on one of several streams that the session listens on.
func (e *listeningStreams) writeInTurn(session string, turn int, b []byte) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	open := e.open[session]
	if len(open) < 2 {
		return false
	}
	open[turn%len(open)].writeRaw(b)
	return true
}
