package refserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// maxWaiting bounds the messages that wait for a client that does not read.
const maxWaiting = 1000

// SSEHandler is the pair of endpoints of HTTP+SSE: a GET opens the stream of a
// session, to whose address its messages are posted.
type SSEHandler struct {
	ctx context.Context
	o   Options

	draining atomic.Bool // no session is opened, as the server is about to end
	died     func()      // a fault ends the process; nil for nothing

	mu       sync.Mutex
	sessions map[string]*sseSession
}

// sseSession is one open stream.
type sseSession struct {
	session  *Session
	out      chan []byte
	deliver  sync.Mutex
	draining bool // guarded by deliver: no more requests are taken
}

// NewSSEHandler returns the endpoints; the context ends all sessions.
func NewSSEHandler(ctx context.Context, o Options) *SSEHandler {
	return &SSEHandler{ctx: ctx, o: o.withDefaults(), sessions: map[string]*sseSession{}}
}

// ServeHTTP implements http.Handler.
func (h *SSEHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.o.Seams.serve(w, r, h.serve)
}

func (h *SSEHandler) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case !h.o.admits(r):
		refuseHTTP(w, http.StatusForbidden, spec.CodeInvalidRequest, "this Origin or Host may not use the server")
	case share(w, r):
	case r.Method == http.MethodGet && h.draining.Load():
		http.Error(w, ending, http.StatusServiceUnavailable)
	case r.Method == http.MethodGet:
		h.stream(w, r)
	case r.Method == http.MethodPost:
		h.post(w, r)
	default:
		w.Header().Set("Allow", "GET, POST")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// stream opens a session, which lives as long as the connection.
func (h *SSEHandler) stream(w http.ResponseWriter, r *http.Request) {
	if !accepted(r, streamType) {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s := &sseSession{out: make(chan []byte, maxWaiting)}
	s.session = NewSession(ctx, h.o, func(o *Out) {
		for _, frame := range o.Frames {
			select {
			case s.out <- frame:
			default:
				cancel() // the client does not read
			}
		}
	})
	s.session.died = h.died
	id := rand.Text()
	h.mu.Lock()
	h.sessions[id] = s
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.sessions, id)
		h.mu.Unlock()
		closing, done := context.WithTimeout(context.Background(), closeTime)
		defer done()
		s.session.Close(closing)
	}()
	w.Header().Set("Content-Type", streamType)
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	_, _ = fmt.Fprintf(w, "event: endpoint\ndata: %s?sessionId=%s\n\n", r.URL.Path, id)
	s.pump(ctx, h.ctx, w)
}

// pump writes the messages of the session.
func (s *sseSession) pump(ctx, all context.Context, w http.ResponseWriter) {
	flush := http.NewResponseController(w).Flush
	for {
		frame, more := s.next(ctx, all, flush)
		if !more {
			return
		}
		if _, err := fmt.Fprintf(w, "event: message\ndata: %s\n\n", frame); err != nil {
			return
		}
	}
}

// next returns the next message. What was written goes to the client before
// there is a wait for more.
func (s *sseSession) next(ctx, all context.Context, flush func() error) (frame []byte, more bool) {
	select {
	case frame := <-s.out:
		return frame, ctx.Err() == nil
	default:
	}
	if flush() != nil {
		return nil, false
	}
	select {
	case frame := <-s.out:
		return frame, true
	case <-ctx.Done():
		return nil, false
	case <-all.Done():
	}
	select {
	case frame := <-s.out: // what was said before is still sent
		return frame, true
	default:
		return nil, false
	}
}

// post takes a message for a session; the response goes to the stream.
func (h *SSEHandler) post(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	s := h.sessions[r.URL.Query().Get("sessionId")]
	h.mu.Unlock()
	if s == nil {
		http.Error(w, "there is no such session, or it has ended", http.StatusNotFound)
		return
	}
	if !isJSON(r) {
		http.Error(w, "Content-Type must be "+jsonType, http.StatusUnsupportedMediaType)
		return
	}
	body, err := readBody(w, r, h.o.MaxFrame)
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		http.Error(w, "the message is too long", http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "the body can't be read", http.StatusBadRequest)
		return
	}
	s.deliver.Lock()
	defer s.deliver.Unlock()
	if s.draining && asks(wire.Parse(body)) {
		http.Error(w, ending, http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	s.session.Deliver(body)
}

func asks(f *wire.Frame) bool {
	return slices.ContainsFunc(f.Messages, func(m wire.Message) bool { return m.Kind == wire.Request })
}

// drain takes no more requests and waits until those in progress are answered,
// or the context has ended.
func (h *SSEHandler) drain(ctx context.Context) {
	h.draining.Store(true)
	h.mu.Lock()
	sessions := slices.Collect(maps.Values(h.sessions))
	h.mu.Unlock()
	for _, s := range sessions {
		s.deliver.Lock()
		s.draining = true
		s.deliver.Unlock()
		s.session.Wait(ctx)
	}
}
