package refserver

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// The headers of Streamable HTTP (basic/transports).
const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	eventHeader   = "Last-Event-Id"
)

const (
	jsonType   = "application/json"
	streamType = "text/event-stream"
)

// HTTPHandler is the MCP endpoint of Streamable HTTP: each message of a client
// is a POST, a GET listens, a DELETE ends the session.
type HTTPHandler struct {
	ctx context.Context
	o   Options

	draining atomic.Bool // requests are refused, as the server is about to end
	died     func()      // a fault ends the process; nil for nothing

	mu       sync.Mutex
	sessions map[string]*httpSession
}

// NewHTTPHandler returns an MCP endpoint; the context ends all its sessions.
func NewHTTPHandler(ctx context.Context, o Options) *HTTPHandler {
	return &HTTPHandler{ctx: ctx, o: o.withDefaults(), sessions: map[string]*httpSession{}}
}

// ServeHTTP implements http.Handler.
func (h *HTTPHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.o.Seams.serve(w, r, h.serve)
}

func (h *HTTPHandler) serve(w http.ResponseWriter, r *http.Request) {
	if !h.o.admits(r) {
		refuseHTTP(w, http.StatusForbidden, spec.CodeInvalidRequest, "this Origin or Host may not use the server")
		return
	}
	if share(w, r) {
		return
	}
	allowed := "GET, POST, DELETE"
	if h.o.NoSessions {
		allowed = "POST"
	}
	switch {
	case r.Method == http.MethodPost:
		h.post(w, r)
	case r.Method == http.MethodGet && !h.o.NoSessions:
		h.get(w, r)
	case r.Method == http.MethodDelete && !h.o.NoSessions:
		h.delete(w, r)
	default:
		w.Header().Set("Allow", allowed)
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// ending is why a request is refused that comes when the server is about to end.
const ending = "the server is about to end"

// drain takes no more requests and waits until those in progress are answered,
// or the context has ended.
func (h *HTTPHandler) drain(ctx context.Context) {
	h.draining.Store(true)
	h.mu.Lock()
	sessions := slices.Collect(maps.Values(h.sessions))
	h.mu.Unlock()
	for _, s := range sessions {
		s.drain(ctx)
	}
}

// Close ends all sessions, and waits for what runs in them.
func (h *HTTPHandler) Close() {
	h.mu.Lock()
	sessions := h.sessions
	h.sessions = map[string]*httpSession{}
	h.mu.Unlock()
	for _, s := range sessions {
		s.close()
	}
}

// refuseHTTP answers a request that is refused as such: the body is a JSON-RPC
// error without an id.
func refuseHTTP(w http.ResponseWriter, status int, code spec.Code, message string) {
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	_, _ = w.Write(errorFrame(spec.V20251125, wire.ID{}, &Error{Code: code, Message: message}))
}

// post takes a message, or a batch, of the client.
func (h *HTTPHandler) post(w http.ResponseWriter, r *http.Request) {
	if !accepted(r, jsonType) || !accepted(r, streamType) {
		refuseHTTP(w, http.StatusNotAcceptable, spec.CodeInvalidRequest, "Accept must name "+jsonType+" and "+streamType)
		return
	}
	if !isJSON(r) {
		refuseHTTP(w, http.StatusUnsupportedMediaType, spec.CodeInvalidRequest, "Content-Type must be "+jsonType)
		return
	}
	body, err := readBody(w, r, h.o.MaxFrame)
	if err != nil {
		status := http.StatusBadRequest
		var long *http.MaxBytesError
		if errors.As(err, &long) {
			status = http.StatusRequestEntityTooLarge
		}
		refuseHTTP(w, status, spec.CodeInvalidRequest, "the body can't be read: "+err.Error())
		return
	}
	frame := wire.Parse(body)
	if !readable(frame) {
		refuseHTTP(w, http.StatusBadRequest, spec.CodeParse, "Parse error")
		return
	}
	if h.draining.Load() && asks(frame) {
		refuseHTTP(w, http.StatusServiceUnavailable, spec.CodeInternal, ending)
		return
	}
	if h.o.NoSessions {
		h.once(w, r, body, frame)
		return
	}
	if s := h.sessionFor(w, r, frame); s != nil {
		s.post(w, r, body, frame)
	}
}

// isJSON reports whether the body is said to be JSON.
func isJSON(r *http.Request) bool {
	given := r.Header.Get("Content-Type")
	if given == jsonType {
		return true
	}
	media, _, err := mime.ParseMediaType(given)
	return err == nil && media == jsonType
}

// shortBody is how long a body may be for which there is room before it comes.
const shortBody = 4 << 10

// readBody returns the body of a request, of at most so many bytes.
func readBody(w http.ResponseWriter, r *http.Request, most int) ([]byte, error) {
	in := http.MaxBytesReader(w, r.Body, int64(most))
	if n := r.ContentLength; n >= 0 && n <= int64(min(most, shortBody)) {
		body := make([]byte, n)
		_, err := io.ReadFull(in, body)
		return body, err
	}
	return io.ReadAll(in)
}

// readable reports whether the body is JSON.
func readable(f *wire.Frame) bool {
	return !slices.ContainsFunc(f.Problems, func(p wire.Problem) bool {
		return p.Kind != wire.DuplicateKey && p.Kind != wire.ByteOrderMark
	})
}

// accepted reports whether the Accept header lets a media type pass.
func accepted(r *http.Request, media string) bool {
	kind, _, _ := strings.Cut(media, "/")
	for _, value := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(value, ",") {
			if strings.TrimSpace(part) == media {
				return true
			}
			name, parameters, err := mime.ParseMediaType(part)
			if err == nil && parameters["q"] != "0" && (name == media || name == kind+"/*" || name == "*/*") {
				return true
			}
		}
	}
	return false
}

// sessionFor returns the session that the request belongs to: a new one for
// initialize. It has answered the request where there is none.
func (h *HTTPHandler) sessionFor(w http.ResponseWriter, r *http.Request, f *wire.Frame) *httpSession {
	if r.Header.Get(sessionHeader) == "" && isInitialize(f) {
		return h.begin(w)
	}
	return h.session(w, r)
}

func isInitialize(f *wire.Frame) bool {
	return len(f.Messages) == 1 && !f.Batch && f.Messages[0].Kind == wire.Request && f.Messages[0].Method == spec.MethodInitialize
}

// begin opens a session; its id is a random text of visible ASCII characters.
func (h *HTTPHandler) begin(w http.ResponseWriter) *httpSession {
	s := newHTTPSession(h, rand.Text())
	h.mu.Lock()
	h.sessions[s.id] = s
	h.mu.Unlock()
	w.Header().Set(sessionHeader, s.id)
	return s
}

// session returns the session that the request names. It has answered the
// request where there is none, or where the version is not that of the session.
func (h *HTTPHandler) session(w http.ResponseWriter, r *http.Request) *httpSession {
	id := r.Header.Get(sessionHeader)
	if id == "" {
		refuseHTTP(w, http.StatusBadRequest, spec.CodeInvalidRequest, "the header Mcp-Session-Id is missing")
		return nil
	}
	h.mu.Lock()
	s := h.sessions[id]
	h.mu.Unlock()
	if s == nil {
		refuseHTTP(w, http.StatusNotFound, spec.CodeInvalidRequest, "there is no such session, or it has ended")
		return nil
	}
	version := r.Header.Get(versionHeader)
	if negotiated := s.session.Revision(); version != "" && negotiated != "" && version != string(negotiated) {
		refuseHTTP(w, http.StatusBadRequest, spec.CodeInvalidRequest, "the header MCP-Protocol-Version is not the version of the session")
		return nil
	}
	return s
}

// get opens a stream for what the server says unasked, or takes up one that
// broke off.
func (h *HTTPHandler) get(w http.ResponseWriter, r *http.Request) {
	if !accepted(r, streamType) {
		refuseHTTP(w, http.StatusNotAcceptable, spec.CodeInvalidRequest, "Accept must name "+streamType)
		return
	}
	if s := h.session(w, r); s != nil {
		s.listen(w, r)
	}
}

// delete ends the session.
func (h *HTTPHandler) delete(w http.ResponseWriter, r *http.Request) {
	s := h.session(w, r)
	if s == nil {
		return
	}
	h.mu.Lock()
	delete(h.sessions, s.id)
	h.mu.Unlock()
	s.close()
	w.WriteHeader(http.StatusNoContent)
}
