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

// maxQueued limits the messages that are queued for a client that does not read.
const maxQueued = 1000

// An SSEHandler serves the two endpoints of HTTP+SSE. A GET opens the stream of a
// session; its first event contains the URI for POSTs.
type SSEHandler struct {
	ctx     context.Context
	options Options

	draining atomic.Bool // the server is shutting down and opens no session
	onExit   func()      // called when a fault ends the process; may be nil

	mu       sync.Mutex
	sessions map[string]*sseSession
}

// An sseSession is a session over HTTP+SSE. It lasts as long as its stream.
type sseSession struct {
	session   *Session
	out       chan []byte
	deliverMu sync.Mutex
	draining  bool // requests are refused; guarded by deliverMu
}

// NewSSEHandler returns the endpoints. Their sessions end with ctx.
func NewSSEHandler(ctx context.Context, o Options) *SSEHandler {
	o = o.withDefaults()
	o.Revisions = o.handshakeRevisions() // stateless revisions do not have this transport
	return &SSEHandler{ctx: ctx, options: o, sessions: map[string]*sseSession{}}
}

// ServeHTTP implements http.Handler.
func (h *SSEHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.options.Seams.serveHTTP(w, r, h.serve)
}

func (h *SSEHandler) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case !h.options.isAllowed(r):
		refuseHTTP(w, http.StatusForbidden, spec.CodeInvalidRequest, "this Origin or Host may not use the server")
	case handleCORS(w, r):
	case r.Method == http.MethodGet && h.draining.Load():
		http.Error(w, shuttingDown, http.StatusServiceUnavailable)
	case r.Method == http.MethodGet:
		h.stream(w, r)
	case r.Method == http.MethodPost:
		h.post(w, r)
	default:
		w.Header().Set("Allow", "GET, POST")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// stream handles a GET: it opens a session and serves its stream.
func (h *SSEHandler) stream(w http.ResponseWriter, r *http.Request) {
	if !accepts(r, streamType) {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s := &sseSession{out: make(chan []byte, maxQueued)}
	s.session = NewSession(ctx, h.options, func(o *Out) {
		for _, frame := range o.Frames {
			select {
			case s.out <- frame:
			default:
				cancel() // the client does not read
			}
		}
	})
	s.session.onExit = h.onExit
	id := rand.Text()
	h.mu.Lock()
	h.sessions[id] = s
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.sessions, id)
		h.mu.Unlock()
		closing, done := context.WithTimeout(context.Background(), closeTimeout)
		defer done()
		s.session.Close(closing)
	}()
	w.Header().Set("Content-Type", streamType)
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	_, _ = fmt.Fprintf(w, "event: endpoint\ndata: %s?sessionId=%s\n\n", r.URL.Path, id)
	s.writeMessages(ctx, h.ctx, w)
}

// writeMessages writes the session's messages to its stream until ctx ends, or until server, the
// context of the whole server, has ended and no message is queued.
func (s *sseSession) writeMessages(ctx, server context.Context, w http.ResponseWriter) {
	flush := http.NewResponseController(w).Flush
	for {
		frame, more := s.next(ctx, server, flush)
		if !more {
			return
		}
		if _, err := fmt.Fprintf(w, "event: message\ndata: %s\n\n", frame); err != nil {
			return
		}
	}
}

// next returns the next message, or false if no more messages are to be written. It flushes the
// stream before it waits for a message.
func (s *sseSession) next(ctx, server context.Context, flush func() error) (frame []byte, more bool) {
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
	case <-server.Done():
	}
	select {
	case frame := <-s.out: // still send what is queued
		return frame, true
	default:
		return nil, false
	}
}

// post handles a POST. The response to its message goes to the stream.
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
	body, err := readBody(w, r, h.options.MaxFrame)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		http.Error(w, "the message is too long", http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "the body can't be read", http.StatusBadRequest)
		return
	}
	s.deliverMu.Lock()
	defer s.deliverMu.Unlock()
	if s.draining && hasRequest(wire.Parse(body)) {
		http.Error(w, shuttingDown, http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	s.session.Deliver(body)
}

func hasRequest(f *wire.Frame) bool {
	return slices.ContainsFunc(f.Messages, func(m wire.Message) bool { return m.Kind == wire.Request })
}

// drain refuses new requests, and waits until the requests in flight have got their responses or
// ctx ends.
func (h *SSEHandler) drain(ctx context.Context) {
	h.draining.Store(true)
	h.mu.Lock()
	sessions := slices.Collect(maps.Values(h.sessions))
	h.mu.Unlock()
	for _, s := range sessions {
		s.deliverMu.Lock()
		s.draining = true
		s.deliverMu.Unlock()
		s.session.Wait(ctx)
	}
}
