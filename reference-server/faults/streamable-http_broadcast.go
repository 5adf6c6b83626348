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

// isAcceptedListening reports whether a GET opens a new listening stream that the server accepts,
// that is, whether the GET has no Origin header and names no unknown protocol version.
func isAcceptedListening(v *exchange) bool {
	version := spec.Revision(v.r.Header.Get(versionHeader))
	return opensListeningStream(v) && v.r.Header.Get("Origin") == "" && (version == "" || version.IsPublished())
}

// A changeNotifier sends an event about a change on the listening streams of a session that
// has several, and returns nil. If the session has fewer than two, it returns the bytes to
// send on the stream of the call.
type changeNotifier func(e *listeningStreams, session string, event []byte) []byte

// notifyNewest sends the event on the newest listening stream.
func notifyNewest(e *listeningStreams, session string, event []byte) []byte {
	if e.count(session) < 2 {
		return event
	}
	e.write(session, removeEventID(event))
	return nil
}

// notifyEach sends the event on every listening stream.
func notifyEach(e *listeningStreams, session string, event []byte) []byte {
	if e.count(session) < 2 {
		return event
	}
	e.writeToAll(session, removeEventID(event))
	return nil
}

// notifyInTurn returns a changeNotifier that sends the event three times, each time on the next
// listening stream.
func notifyInTurn() changeNotifier {
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

// broadcast keeps several listening streams of a session open; tell distributes the change events
// among them. It also sets readOnlyHint on the tool update-resource, so that the harness calls the
// tool.
func broadcast(tell changeNotifier) *refserver.Seams {
	e := newListeningStreams()
	diverts := func(session string) func([]byte) []byte {
		return func(b []byte) []byte {
			if !isChangeEvent(b) {
				return b
			}
			return tell(e, session, b)
		}
	}
	return combineSeams(markReadOnly("update-resource"), editResponses(anyExchange, func(v *exchange, r *responseEditor) {
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

// count returns the number of listening streams of the session.
func (e *listeningStreams) count(session string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.open[session])
}

// writeToAll writes to all listening streams of the session.
func (e *listeningStreams) writeToAll(session string, b []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.open[session] {
		r.writeRaw(b)
	}
}

// writeInTurn writes to one of the session's listening streams, selected by turn. It
// returns false if the session has fewer than two.
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
