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

// An HTTPHandler is the MCP endpoint of Streamable HTTP: a POST carries a message or a batch.
// In handshake revisions a GET opens the listening stream or resumes a stream, and a DELETE
// ends the session.
type HTTPHandler struct {
	ctx     context.Context
	options Options

	draining atomic.Bool // the server is shutting down and refuses requests
	onExit   func()      // called when a fault ends the process; may be nil

	shared *offer // the offer of all requests of stateless revisions

	mu       sync.Mutex
	sessions map[string]*httpSession
	posts    map[*post]bool // the POSTs of stateless revisions in progress
}

// NewHTTPHandler returns an MCP endpoint. Its sessions end with ctx.
func NewHTTPHandler(ctx context.Context, o Options) *HTTPHandler {
	return &HTTPHandler{
		ctx: ctx, options: o.withDefaults(), shared: newOffer(o),
		sessions: map[string]*httpSession{}, posts: map[*post]bool{},
	}
}

// ServeHTTP implements http.Handler.
func (h *HTTPHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.options.Seams.serveHTTP(w, r, h.serve)
}

func (h *HTTPHandler) serve(w http.ResponseWriter, r *http.Request) {
	if !h.options.isAllowed(r) {
		refuseHTTP(w, http.StatusForbidden, spec.CodeInvalidRequest, "this Origin or Host may not use the server")
		return
	}
	if handleCORS(w, r) {
		return
	}
	allowed, sessions := "GET, POST, DELETE", h.hasSessions(r)
	if !sessions {
		allowed = "POST"
	}
	switch {
	case r.Method == http.MethodPost:
		h.post(w, r)
	case r.Method == http.MethodGet && sessions:
		h.get(w, r)
	case r.Method == http.MethodDelete && sessions:
		h.delete(w, r)
	default:
		w.Header().Set("Allow", allowed)
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// hasSessions reports whether the request may belong to a session: the server has sessions, and the
// MCP-Protocol-Version header does not name a stateless revision that the server serves.
func (h *HTTPHandler) hasSessions(r *http.Request) bool {
	named := spec.Revision(r.Header.Get(versionHeader))
	return !h.options.NoSessions && len(h.options.handshakeRevisions()) > 0 &&
		!slices.Contains(h.options.statelessRevisions(), named)
}

// shuttingDown is the error message of requests that arrive during shutdown.
const shuttingDown = "the server is shutting down"

// drain refuses new requests, ends the subscriptions of stateless revisions, and waits until the
// requests in flight have got their responses or ctx ends.
func (h *HTTPHandler) drain(ctx context.Context) {
	h.draining.Store(true)
	h.mu.Lock()
	sessions, posts := slices.Collect(maps.Values(h.sessions)), slices.Collect(maps.Keys(h.posts))
	h.mu.Unlock()
	for _, s := range sessions {
		s.drain(ctx)
	}
	for _, p := range posts {
		p.session.endSubscriptions(ctx)
		p.session.Wait(ctx)
	}
}

// Close ends all sessions and POSTs in progress, and waits at most closeTimeout for the
// goroutines of each.
func (h *HTTPHandler) Close() {
	h.mu.Lock()
	sessions := h.sessions
	h.sessions = map[string]*httpSession{}
	posts := slices.Collect(maps.Keys(h.posts))
	h.mu.Unlock()
	for _, s := range sessions {
		s.close()
	}
	for _, p := range posts {
		p.close()
	}
}

// refuseHTTP refuses an HTTP request with a status and a JSON-RPC error without id.
func refuseHTTP(w http.ResponseWriter, status int, code spec.Code, message string) {
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	_, _ = w.Write(errorFrame(spec.V20251125, wire.ID{}, &Error{Code: code, Message: message}))
}

// post handles a POST, which carries a message or a batch.
func (h *HTTPHandler) post(w http.ResponseWriter, r *http.Request) {
	if !accepts(r, jsonType) || !accepts(r, streamType) {
		refuseHTTP(w, http.StatusNotAcceptable, spec.CodeInvalidRequest, "Accept must name "+jsonType+" and "+streamType)
		return
	}
	if !isJSON(r) {
		refuseHTTP(w, http.StatusUnsupportedMediaType, spec.CodeInvalidRequest, "Content-Type must be "+jsonType)
		return
	}
	body, err := readBody(w, r, h.options.MaxFrame)
	if err != nil {
		status := http.StatusBadRequest
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		refuseHTTP(w, status, spec.CodeInvalidRequest, "the body can't be read: "+err.Error())
		return
	}
	frame := wire.Parse(body)
	if !isReadable(frame) {
		refuseHTTP(w, http.StatusBadRequest, spec.CodeParse, "Parse error")
		return
	}
	if h.draining.Load() && hasRequest(frame) {
		refuseHTTP(w, http.StatusServiceUnavailable, spec.CodeInternal, shuttingDown)
		return
	}
	if h.isStateless(r, frame) {
		h.postStateless(w, r, body, frame)
		return
	}
	if h.options.NoSessions {
		h.postWithoutSession(w, r, body, frame)
		return
	}
	if s := h.sessionFor(w, r, frame); s != nil {
		s.post(w, r, body, frame)
	}
}

// isJSON reports whether the Content-Type is JSON.
func isJSON(r *http.Request) bool {
	given := r.Header.Get("Content-Type")
	if given == jsonType {
		return true
	}
	media, _, err := mime.ParseMediaType(given)
	return err == nil && media == jsonType
}

// shortBody is the length in bytes up to which readBody trusts Content-Length and
// allocates the whole body at once.
const shortBody = 4 << 10

// readBody returns the body of a request. If the body exceeds limit bytes, the error is an
// *http.MaxBytesError.
func readBody(w http.ResponseWriter, r *http.Request, limit int) ([]byte, error) {
	in := http.MaxBytesReader(w, r.Body, int64(limit))
	if n := r.ContentLength; n >= 0 && n <= int64(min(limit, shortBody)) {
		body := make([]byte, n)
		_, err := io.ReadFull(in, body)
		return body, err
	}
	return io.ReadAll(in)
}

// isReadable reports whether the body is JSON. It accepts duplicate keys and a byte order mark,
// which are handled later.
func isReadable(f *wire.Frame) bool {
	return !slices.ContainsFunc(f.Problems, func(p wire.Problem) bool {
		return p.Kind != wire.DuplicateKey && p.Kind != wire.ByteOrderMark
	})
}

// accepts reports whether the Accept header permits a media type, by its name or with a wildcard.
func accepts(r *http.Request, media string) bool {
	kind, _, _ := strings.Cut(media, "/")
	for _, value := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(value, ",") {
			if strings.TrimSpace(part) == media {
				return true
			}
			name, parameters, err := mime.ParseMediaType(part)
			if err == nil && !isZeroQuality(parameters["q"]) && (name == media || name == kind+"/*" || name == "*/*") {
				return true
			}
		}
	}
	return false
}

// isZeroQuality reports whether a quality value is zero, such as 0 or 0.0. Zero means that the
// client does not accept the media type.
func isZeroQuality(quality string) bool {
	return quality != "" && strings.Trim(quality, "0.") == ""
}

// sessionFor returns the session of a request; for initialize without Mcp-Session-Id it opens one.
// If the request has no valid session, sessionFor refuses the request and returns nil.
func (h *HTTPHandler) sessionFor(w http.ResponseWriter, r *http.Request, f *wire.Frame) *httpSession {
	if r.Header.Get(sessionHeader) == "" && isInitialize(f) {
		return h.openSession(w, r)
	}
	return h.findSession(w, r)
}

func isInitialize(f *wire.Frame) bool {
	return len(f.Messages) == 1 && !f.Batch && f.Messages[0].Kind == wire.Request && f.Messages[0].Method == spec.MethodInitialize
}

// openSession opens a session for the user of a request. The session's id is random and
// consists of visible ASCII characters.
func (h *HTTPHandler) openSession(w http.ResponseWriter, r *http.Request) *httpSession {
	s := newHTTPSession(h, rand.Text())
	s.user, s.session.token = userOf(r), tokenOf(r)
	h.mu.Lock()
	h.sessions[s.id] = s
	h.mu.Unlock()
	w.Header().Set(sessionHeader, s.id)
	return s
}

// isOtherUser reports whether a request comes from a user other than the given one. It returns
// false for a request without a user, which occurs if the server is unprotected, or if a fault
// accepts requests without a valid token. With the seam AnyUserSession it always returns false.
func (h *HTTPHandler) isOtherUser(user string, r *http.Request) bool {
	return userOf(r) != "" && userOf(r) != user && !h.options.Seams.Protection.AnyUserSession
}

// findSession returns the session that Mcp-Session-Id names. It refuses the request and
// returns nil if the header is missing or names no session, if the session is another user's,
// or if MCP-Protocol-Version is present and differs from the negotiated version.
func (h *HTTPHandler) findSession(w http.ResponseWriter, r *http.Request) *httpSession {
	id := r.Header.Get(sessionHeader)
	if id == "" {
		refuseHTTP(w, http.StatusBadRequest, spec.CodeInvalidRequest, "the header Mcp-Session-Id is missing")
		return nil
	}
	h.mu.Lock()
	s := h.sessions[id]
	h.mu.Unlock()
	if s == nil || h.isOtherUser(s.user, r) {
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

// get handles a GET: it opens the listening stream, or resumes a stream after the event
// in Last-Event-ID.
func (h *HTTPHandler) get(w http.ResponseWriter, r *http.Request) {
	if !accepts(r, streamType) {
		refuseHTTP(w, http.StatusNotAcceptable, spec.CodeInvalidRequest, "Accept must name "+streamType)
		return
	}
	if s := h.findSession(w, r); s != nil {
		s.listen(w, r)
	}
}

// delete handles a DELETE: it ends the session.
func (h *HTTPHandler) delete(w http.ResponseWriter, r *http.Request) {
	s := h.findSession(w, r)
	if s == nil {
		return
	}
	h.mu.Lock()
	delete(h.sessions, s.id)
	h.mu.Unlock()
	s.close()
	w.WriteHeader(http.StatusNoContent)
}
