package faults

import (
	"bytes"
	"net/http"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// mapSessionIDs gives clients other session ids than the server uses internally. The function name
// returns the id that clients get. Its arguments are the number of the session, counted from 1, and
// the id that the server uses.
func mapSessionIDs(name func(n int, id string) string) *refserver.Seams {
	var mu sync.Mutex
	given, inside := map[string]string{}, map[string]string{}
	return editResponses(anyExchange, func(v *exchange, r *responseEditor) {
		mu.Lock()
		if id, ok := inside[v.r.Header.Get(sessionHeader)]; ok {
			v.r.Header.Set(sessionHeader, id)
		}
		mu.Unlock()
		r.editHead = func(status int, h http.Header, _ []byte) int {
			id := h.Get(sessionHeader)
			if id == "" {
				return status
			}
			mu.Lock()
			defer mu.Unlock()
			if given[id] == "" {
				given[id] = name(len(given)+1, id)
				inside[given[id]] = id
			}
			h[sessionHeader] = []string{given[id]}
			return status
		}
	})
}

// reuseSessionIDs gives a new session the id of a session that has ended, if there is such a
// session.
func reuseSessionIDs() *refserver.Seams {
	var mu sync.Mutex
	var free []string
	used := map[string]bool{}
	return combineSeams(
		mapSessionIDs(func(_ int, id string) string {
			mu.Lock()
			defer mu.Unlock()
			if len(free) > 0 {
				id, free = free[0], free[1:]
			}
			used[id] = true
			return id
		}),
		onExchange(isDelete, func(v *exchange) {
			id := v.r.Header.Get(sessionHeader)
			v.serve()
			mu.Lock()
			defer mu.Unlock()
			if used[id] {
				used[id] = false
				free = append(free, id)
			}
		}),
	)
}

// A sessionList records the sessions that have not ended, oldest first.
type sessionList struct {
	mu  sync.Mutex
	ids []string
}

func (m *sessionList) latest() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.ids) == 0 {
		return ""
	}
	return m.ids[len(m.ids)-1]
}

func (m *sessionList) count() int { m.mu.Lock(); defer m.mu.Unlock(); return len(m.ids) }

func (m *sessionList) drop(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, x := range m.ids {
		if x == id {
			m.ids = append(m.ids[:i:i], m.ids[i+1:]...)
			return
		}
	}
}

func (m *sessionList) has(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.ids {
		if x == id {
			return true
		}
	}
	return false
}

// track adds the session that the exchange begins, or removes the one that its DELETE ends.
func (m *sessionList) track(v *exchange, r *responseEditor) {
	inner := r.editHead
	r.editHead = func(status int, h http.Header, first []byte) int {
		if inner != nil {
			status = inner(status, h, first)
		}
		if id := h.Get(sessionHeader); id != "" && status == http.StatusOK {
			m.mu.Lock()
			m.ids = append(m.ids, id)
			m.mu.Unlock()
		}
		if isDelete(v) && status < 300 {
			m.drop(v.r.Header.Get(sessionHeader))
		}
		return status
	}
}

// listeningStreams records the open listening streams of each session.
type listeningStreams struct {
	mu    sync.Mutex
	open  map[string][]*responseEditor
	order []string
}

func newListeningStreams() *listeningStreams {
	return &listeningStreams{open: map[string][]*responseEditor{}}
}

func (e *listeningStreams) add(session string, r *responseEditor) (remove func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open[session] = append(e.open[session], r)
	e.order = append(e.order, session)
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		for i, x := range e.open[session] {
			if x == r {
				e.open[session] = append(e.open[session][:i:i], e.open[session][i+1:]...)
				return
			}
		}
	}
}

// write writes to the newest listening stream of the session. It returns false if the session has
// no listening stream.
func (e *listeningStreams) write(session string, b []byte) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if open := e.open[session]; len(open) > 0 {
		open[len(open)-1].writeRaw(b)
		return true
	}
	return false
}

// otherSession returns the newest session, other than the given one, that has a listening stream,
// or "".
func (e *listeningStreams) otherSession(session string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := len(e.order) - 1; i >= 0; i-- {
		if s := e.order[i]; s != session && len(e.open[s]) > 0 {
			return s
		}
	}
	return ""
}

// divertEvents moves the matching events of POST streams to the session's listening stream. If
// copied is true, the POST stream also carries them.
func divertEvents(when func(event []byte) bool, copied bool) *refserver.Seams {
	e := newListeningStreams()
	return editResponses(anyExchange, func(v *exchange, r *responseEditor) {
		session := v.r.Header.Get(sessionHeader)
		if opensListeningStream(v) {
			remove := e.add(session, r)
			go func() { <-v.r.Context().Done(); remove() }()
			return
		}
		if !isPost(v) {
			return
		}
		r.editBody = func(b []byte) []byte {
			if r.isStream() && when(b) && e.write(session, b) && !copied {
				return nil
			}
			return b
		}
	})
}

// misdirectEvents also sends the messages of each session, except responses, on the listening
// stream of another session.
func misdirectEvents() *refserver.Seams {
	e := newListeningStreams()
	return editResponses(anyExchange, func(v *exchange, r *responseEditor) {
		session := v.r.Header.Get(sessionHeader)
		if opensListeningStream(v) {
			remove := e.add(session, r)
			go func() { <-v.r.Context().Done(); remove() }()
			return
		}
		if !isPost(v) {
			return
		}
		r.editBody = func(b []byte) []byte {
			if other := e.otherSession(session); r.isStream() && other != "" && eventData(b) != nil && !eventHasResponse(b) {
				e.write(other, removeEventID(b))
			}
			return b
		}
	})
}

// moveEventsToNextStream moves matching events from the stream of one POST to the stream of the
// next POST.
func moveEventsToNextStream(when func(event []byte) bool) *refserver.Seams {
	var mu sync.Mutex
	held := map[string]*heldEvent{}
	return editResponses(isPost, func(v *exchange, r *responseEditor) {
		session := v.r.Header.Get(sessionHeader)
		r.editBody = func(b []byte) []byte {
			if !r.isStream() {
				return b
			}
			mu.Lock()
			defer mu.Unlock()
			if h := held[session]; h != nil && h.of != v.r {
				delete(held, session)
				b = append(h.event, b...)
			} else if h == nil && when(b) {
				held[session] = &heldEvent{v.r, bytes.Clone(b)}
				return nil
			}
			return b
		}
	})
}

// A heldEvent is an event that waits to be sent on a stream other than its own.
type heldEvent struct {
	of    *http.Request
	event []byte
}

// replayForeignEvents begins each resumed stream with the session's events from all
// other POST streams.
func replayForeignEvents() *refserver.Seams {
	var mu sync.Mutex
	kept := map[string][]byte{}
	return editResponses(anyExchange, func(v *exchange, r *responseEditor) {
		session := v.r.Header.Get(sessionHeader)
		switch {
		case isPost(v):
			r.editBody = func(b []byte) []byte {
				mu.Lock()
				defer mu.Unlock()
				if r.isStream() && eventData(b) != nil {
					kept[session] = append(kept[session], b...)
				}
				return b
			}
		case isResume(v):
			own, _, _ := strings.Cut(v.r.Header.Get(eventHeader), "-")
			mu.Lock()
			var foreign []byte
			for _, event := range bytes.SplitAfter(kept[session], []byte("\n\n")) {
				if !bytes.Contains(event, []byte("id: "+own+"-")) {
					foreign = append(foreign, event...)
				}
			}
			mu.Unlock()
			v.w = &prefixWriter{ResponseWriter: v.w, prefix: foreign}
			r.ResponseWriter = v.w
		}
	})
}

// A prefixWriter writes a prefix before the body of each response with status 200.
type prefixWriter struct {
	http.ResponseWriter
	prefix []byte
}

// WriteHeader implements http.ResponseWriter.
func (p *prefixWriter) WriteHeader(status int) {
	p.ResponseWriter.WriteHeader(status)
	if status == http.StatusOK {
		_, _ = p.ResponseWriter.Write(p.prefix)
	}
}

// Unwrap implements the interface that http.ResponseController uses.
func (p *prefixWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// serveDiscarding lets the server handle a request and discards the response.
func (v *exchange) serveDiscarding(r *http.Request) {
	v.next.ServeHTTP(&discardWriter{header: http.Header{}}, r)
}

// A discardWriter is an http.ResponseWriter that discards the response.
type discardWriter struct{ header http.Header }

// Header implements http.ResponseWriter.
func (n *discardWriter) Header() http.Header { return n.header }

// WriteHeader implements http.ResponseWriter.
func (*discardWriter) WriteHeader(int) {}

// Write implements http.ResponseWriter.
func (*discardWriter) Write(b []byte) (int, error) { return len(b), nil }

// failAfterDisconnect makes tools/call fail if the client disconnects before the response.
func failAfterDisconnect() *refserver.Seams {
	var mu sync.Mutex
	left := map[string]bool{}
	return combineSeams(onExchange(hasRequestOf(spec.MethodToolsCall), func(v *exchange) {
		v.serve()
		if v.r.Context().Err() != nil {
			mu.Lock()
			defer mu.Unlock()
			left[v.frame.Messages[0].ID.Key()] = true
		}
	}), WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		mu.Lock()
		defer mu.Unlock()
		if left[c.ID.Key()] {
			return nil, &refserver.Error{Code: spec.CodeInternal, Message: "the client is gone"}
		}
		return result, err
	}))
}

// shareResponses returns the response to one session's request also for another session's
// request with the same string id, except for initialize and tools/call.
func shareResponses() *refserver.Seams {
	type answer struct {
		of     *refserver.Session
		result any
		err    *refserver.Error
	}
	var mu sync.Mutex
	known := map[string]*answer{}
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if c.ID.Raw()[0] != '"' || c.Method == spec.MethodInitialize || c.Method == spec.MethodToolsCall {
			return next(c)
		}
		mu.Lock()
		defer mu.Unlock()
		a := known[c.ID.Key()]
		if a == nil || a.of == c.Session {
			a = &answer{of: c.Session}
			a.result, a.err = next(c)
			known[c.ID.Key()] = a
		}
		return a.result, a.err
	})
}

// closeServer closes the whole server with all its connections.
func closeServer(r *http.Request) {
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
		go func() { _ = server.Close() }()
	}
}

// moveToListeningStream sends the matching messages of the server on the stream that a GET opened.
func moveToListeningStream(which func(*refserver.Out) bool) *refserver.Seams {
	return &refserver.Seams{Outgoing: func(o *refserver.Out) {
		if which(o) {
			o.Related = wire.ID{}
		}
	}}
}
