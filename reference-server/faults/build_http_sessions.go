package faults

import (
	"bytes"
	"net/http"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// renamedSessions gives sessions other ids than the server does.
func renamedSessions(name func(n int, id string) string) refserver.Seams {
	var mu sync.Mutex
	given, inside := map[string]string{}, map[string]string{}
	return alters(anyVisit, func(v *visit, r *reply) {
		mu.Lock()
		if id, ok := inside[v.r.Header.Get(sessionHeader)]; ok {
			v.r.Header.Set(sessionHeader, id)
		}
		mu.Unlock()
		r.head = func(status int, h http.Header, _ []byte) int {
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

// recycledSessions gives a session the id of one that has ended, if there is one.
func recycledSessions() refserver.Seams {
	var mu sync.Mutex
	var free []string
	used := map[string]bool{}
	return together(
		renamedSessions(func(_ int, id string) string {
			mu.Lock()
			defer mu.Unlock()
			if len(free) > 0 {
				id, free = free[0], free[1:]
			}
			used[id] = true
			return id
		}),
		visits(deletes, func(v *visit) {
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

// members are the sessions that a fault has seen, in their order.
type members struct {
	mu  sync.Mutex
	ids []string
}

func (m *members) latest() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.ids) == 0 {
		return ""
	}
	return m.ids[len(m.ids)-1]
}

func (m *members) count() int { m.mu.Lock(); defer m.mu.Unlock(); return len(m.ids) }

func (m *members) drop(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, x := range m.ids {
		if x == id {
			m.ids = append(m.ids[:i:i], m.ids[i+1:]...)
			return
		}
	}
}

func (m *members) has(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.ids {
		if x == id {
			return true
		}
	}
	return false
}

// joins notes the sessions that begin, and those that a DELETE ends.
func (m *members) joins(v *visit, r *reply) {
	inner := r.head
	r.head = func(status int, h http.Header, first []byte) int {
		if inner != nil {
			status = inner(status, h, first)
		}
		if id := h.Get(sessionHeader); id != "" && status == http.StatusOK {
			m.mu.Lock()
			m.ids = append(m.ids, id)
			m.mu.Unlock()
		}
		if deletes(v) && status < 300 {
			m.drop(v.r.Header.Get(sessionHeader))
		}
		return status
	}
}

// ears are the streams on which clients listen, by session.
type ears struct {
	mu    sync.Mutex
	open  map[string][]*reply
	order []string
}

func newEars() *ears { return &ears{open: map[string][]*reply{}} }

func (e *ears) add(session string, r *reply) (remove func()) {
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

// say writes on a stream that the session listens on, if there is one.
func (e *ears) say(session string, b []byte) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if open := e.open[session]; len(open) > 0 {
		open[len(open)-1].put(b)
		return true
	}
	return false
}

// other returns another session that listens, the newest.
func (e *ears) other(session string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := len(e.order) - 1; i >= 0; i-- {
		if s := e.order[i]; s != session && len(e.open[s]) > 0 {
			return s
		}
	}
	return ""
}

// diverted puts events of the streams of POSTs on the stream that the client
// listens on; copied leaves them where they were, too.
func diverted(when func(event []byte) bool, copied bool) refserver.Seams {
	e := newEars()
	return alters(anyVisit, func(v *visit, r *reply) {
		session := v.r.Header.Get(sessionHeader)
		if listens(v) {
			remove := e.add(session, r)
			go func() { <-v.r.Context().Done(); remove() }()
			return
		}
		if !posts(v) {
			return
		}
		r.edit = func(b []byte) []byte {
			if r.streams() && when(b) && e.say(session, b) && !copied {
				return nil
			}
			return b
		}
	})
}

// misdirected puts the responses of one session on the stream of another.
func misdirected() refserver.Seams {
	e := newEars()
	return alters(anyVisit, func(v *visit, r *reply) {
		session := v.r.Header.Get(sessionHeader)
		if listens(v) {
			remove := e.add(session, r)
			go func() { <-v.r.Context().Done(); remove() }()
			return
		}
		if !posts(v) {
			return
		}
		r.edit = func(b []byte) []byte {
			if other := e.other(session); r.streams() && other != "" && data(b) != nil && !bringsResponse(b) {
				e.say(other, withoutID(b))
			}
			return b
		}
	})
}

// swapped moves events from the stream of one POST to that of the next.
func swapped(when func(event []byte) bool) refserver.Seams {
	var mu sync.Mutex
	held := map[string]*heldEvent{}
	return alters(posts, func(v *visit, r *reply) {
		session := v.r.Header.Get(sessionHeader)
		r.edit = func(b []byte) []byte {
			if !r.streams() {
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

// heldEvent is an event that waits for another stream than its own.
type heldEvent struct {
	of    *http.Request
	event []byte
}

// replays begins each stream that is resumed with the events of all others.
func replays() refserver.Seams {
	var mu sync.Mutex
	kept := map[string][]byte{}
	return alters(anyVisit, func(v *visit, r *reply) {
		session := v.r.Header.Get(sessionHeader)
		switch {
		case posts(v):
			r.edit = func(b []byte) []byte {
				mu.Lock()
				defer mu.Unlock()
				if r.streams() && data(b) != nil {
					kept[session] = append(kept[session], b...)
				}
				return b
			}
		case resumes(v):
			own, _, _ := strings.Cut(v.r.Header.Get(eventHeader), "-")
			mu.Lock()
			var foreign []byte
			for _, event := range bytes.SplitAfter(kept[session], []byte("\n\n")) {
				if !bytes.Contains(event, []byte("id: "+own+"-")) {
					foreign = append(foreign, event...)
				}
			}
			mu.Unlock()
			v.w = &prefixed{ResponseWriter: v.w, prefix: foreign}
			r.ResponseWriter = v.w
		}
	})
}

// prefixed writes something ahead of a response that succeeds.
type prefixed struct {
	http.ResponseWriter
	prefix []byte
}

// WriteHeader implements http.ResponseWriter.
func (p *prefixed) WriteHeader(status int) {
	p.ResponseWriter.WriteHeader(status)
	if status == http.StatusOK {
		_, _ = p.ResponseWriter.Write(p.prefix)
	}
}

// Unwrap is what http.ResponseController calls.
func (p *prefixed) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// unheard has the server handle a request whose response nobody gets.
func (v *visit) unheard(r *http.Request) { v.next.ServeHTTP(&nothing{header: http.Header{}}, r) }

// nothing is where a response goes that nobody gets.
type nothing struct{ header http.Header }

// Header implements http.ResponseWriter.
func (n *nothing) Header() http.Header { return n.header }

// WriteHeader implements http.ResponseWriter.
func (*nothing) WriteHeader(int) {}

// Write implements http.ResponseWriter.
func (*nothing) Write(b []byte) (int, error) { return len(b), nil }

// failsWhenLeft has the requests fail whose connection is gone.
func failsWhenLeft() refserver.Seams {
	var mu sync.Mutex
	left := map[string]bool{}
	return together(visits(asking(spec.MethodToolsCall), func(v *visit) {
		v.serve()
		if v.r.Context().Err() != nil {
			mu.Lock()
			defer mu.Unlock()
			left[v.frame.Messages[0].ID.Key()] = true
		}
	}), Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		mu.Lock()
		defer mu.Unlock()
		if left[c.ID.Key()] {
			return nil, &refserver.Error{Code: spec.CodeInternal, Message: "the client is gone"}
		}
		return result, err
	}))
}

// sameAnswers gives requests of several sessions one answer where their ids,
// which are strings, are equal.
func sameAnswers() refserver.Seams {
	type answer struct {
		of     *refserver.Session
		result any
		err    *refserver.Error
	}
	var mu sync.Mutex
	known := map[string]*answer{}
	return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
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

// shutsDown ends the whole server, connections and all.
func shutsDown(r *http.Request) {
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
		go func() { _ = server.Close() }()
	}
}
