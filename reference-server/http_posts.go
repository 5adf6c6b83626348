package refserver

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A POST of a stateless revision carries one message and is independent of all others.
// The client cancels a request by closing the connection.

const (
	// jsonTimeout is how long the server waits for a response that it can send as
	// JSON, with an HTTP status for errors. After that it opens a stream, unless
	// Options.JSONOnly forbids streams.
	jsonTimeout = time.Second
	// keepAlive is the interval between comments on a stream, which prevent intermediaries
	// from closing an idle connection.
	keepAlive = 15 * time.Second
)

// A post is one POST of a stateless revision with its response.
type post struct {
	session        *Session
	cancel         context.CancelFunc
	out            chan *Out
	isSubscription bool          // the request is a subscription, which ends if the client does not read
	unanswered     chan struct{} // closed if the request gets no response
}

// isStateless reports whether a POST belongs to a stateless revision. If the server serves
// revisions of only one era, the answer is the same for every POST. If it serves both, a POST with
// a version in _meta is stateless, and an initialize without one is not. For any other POST the
// MCP-Protocol-Version header decides: it makes the POST stateless if it names a stateless
// revision. Outside a session, server/discover and a header with an unknown version also make it
// stateless.
func (h *HTTPHandler) isStateless(r *http.Request, f *wire.Frame) bool {
	stateless := h.options.statelessRevisions()
	if len(stateless) == 0 || len(h.options.handshakeRevisions()) == 0 {
		return len(stateless) > 0
	}
	named := spec.Revision(r.Header.Get(versionHeader))
	hasSession := r.Header.Get(sessionHeader) != ""
	if len(f.Messages) == 1 && !f.Batch {
		m := &f.Messages[0]
		switch {
		case metaOf(m.Params())[metaVersion] != nil:
			return true
		case m.Method == spec.MethodInitialize:
			return false
		case m.Method == spec.MethodDiscover && !hasSession:
			return true
		}
	}
	return slices.Contains(stateless, named) || named != "" && !named.IsPublished() && !hasSession
}

// postStateless handles a POST of a stateless revision.
func (h *HTTPHandler) postStateless(w http.ResponseWriter, r *http.Request, body []byte, f *wire.Frame) {
	if f.Batch || len(f.Messages) != 1 {
		refuseHTTP(w, http.StatusBadRequest, spec.CodeInvalidRequest, "the body must be one message")
		return
	}
	m := &f.Messages[0]
	if m.Kind == wire.Response {
		refuseHTTP(w, http.StatusBadRequest, spec.CodeInvalidRequest, "a client sends no responses")
		return
	}
	p := h.newPost(r, m)
	if p == nil {
		refuseHTTP(w, http.StatusServiceUnavailable, spec.CodeInternal, shuttingDown)
		return
	}
	defer h.endPost(p)
	if m.Kind == wire.Notification {
		p.acceptNotification(w, r, body, f)
		return
	}
	p.session.deliver(body, f)
	p.respond(w, r)
}

// newPost returns a post in progress, or nil if the server is shutting down.
func (h *HTTPHandler) newPost(r *http.Request, m *wire.Message) *post {
	ctx, cancel := context.WithCancel(h.ctx)
	p := &post{cancel: cancel, out: make(chan *Out, maxQueued), isSubscription: m.Method == spec.MethodListen, unanswered: make(chan struct{})}
	p.session = newSession(ctx, h.options, p.emit, h.shared, h.shared)
	p.session.header, p.session.user, p.session.token = r.Header, userOf(r), tokenOf(r)
	markUnanswered := sync.OnceFunc(func() { close(p.unanswered) })
	p.session.onUnanswered = func(wire.ID) { markUnanswered() }
	p.session.onExit = h.onExit
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining.Load() {
		cancel()
		return nil
	}
	h.posts[p] = true
	return p
}

// endPost cancels the request of p, unless it is complete, and waits at most closeTimeout for the
// request's goroutines.
func (h *HTTPHandler) endPost(p *post) {
	h.mu.Lock()
	delete(h.posts, p)
	h.mu.Unlock()
	p.close()
}

func (p *post) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	p.session.Close(ctx)
	p.cancel()
}

// acceptNotification responds to a notification with 202, or with an error if the version header or
// the message is invalid. The stateless revisions define no notification that has an effect over
// HTTP.
func (p *post) acceptNotification(w http.ResponseWriter, r *http.Request, body []byte, f *wire.Frame) {
	version := r.Header.Get(versionHeader)
	if version != "" && !slices.Contains(p.session.options.statelessRevisions(), spec.Revision(version)) {
		writeError(w, p.session.options.unsupportedVersion(version))
		return
	}
	if err := checkMessage(&f.Messages[0], f.Has(wire.DuplicateKey)); err != nil {
		writeError(w, err)
		return
	}
	p.session.deliver(body, f)
	w.WriteHeader(http.StatusAccepted)
}

// writeError writes an HTTP response with a JSON-RPC error that has no id.
func writeError(w http.ResponseWriter, e *Error) {
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(statusOf(e))
	_, _ = w.Write(errorFrame(spec.V20260728, wire.ID{}, e))
}

// emit queues a message. If the queue is full, because the client does not read, emit ends a
// subscription; for any other request it waits until the queue has room.
func (p *post) emit(o *Out) {
	select {
	case p.out <- o:
		return
	default:
	}
	if p.isSubscription {
		p.cancel()
		return
	}
	select {
	case p.out <- o:
	case <-p.session.ctx.Done():
	}
}

// isFinal reports whether a message is the response to the request.
func isFinal(o *Out) bool { return o.Kind == OutResult || o.Kind == OutError }

// respond sends the response as JSON if it is ready within jsonTimeout and no other message
// precedes it. Otherwise it sends the response on a stream. With Options.JSONOnly it drops the
// messages that precede the response and sends a stream only for a subscription.
func (p *post) respond(w http.ResponseWriter, r *http.Request) {
	asJSON := p.session.options.JSONOnly && !p.isSubscription
	timeout := time.NewTimer(jsonTimeout)
	defer timeout.Stop()
	for {
		select {
		case o := <-p.out:
			switch {
			case isFinal(o) && (len(o.Frames) == 1 || asJSON):
				w.Header().Set("Content-Type", jsonType)
				w.WriteHeader(o.Status)
				_, _ = w.Write(o.Frames[len(o.Frames)-1])
				return
			case !asJSON:
				p.stream(w, r, o)
				return
			}
		case <-timeout.C:
			if !asJSON {
				p.stream(w, r, nil)
				return
			}
		case <-p.unanswered:
			if asJSON {
				w.WriteHeader(http.StatusAccepted)
			} else {
				p.stream(w, r, nil)
			}
			return
		case <-r.Context().Done():
			return
		case <-p.session.ctx.Done():
			if len(p.out) > 0 {
				continue // still send the queued messages
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
	}
}

// stream sends messages as events. If first is not nil, it is sent before the queued messages.
// stream returns when the response is sent, when the request gets no response, or when the
// connection or the session ends. The events have no ids, because a stream can't be resumed.
func (p *post) stream(w http.ResponseWriter, r *http.Request, first *Out) {
	h, flush := w.Header(), http.NewResponseController(w).Flush
	h.Set("Content-Type", streamType)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")      // a proxy should pass on events at once
	h.Set("Transfer-Encoding", "chunked") // otherwise net/http may add Content-Length
	w.WriteHeader(http.StatusOK)
	if first != nil && p.writeAndReportEnd(w, first) {
		return
	}
	idle := time.NewTicker(keepAlive)
	defer idle.Stop()
	for {
		if len(p.out) == 0 && flush() != nil {
			return
		}
		ends := p.session.ctx.Done()
		unanswered := p.unanswered
		if len(p.out) > 0 { // send the queued messages before the end
			ends, unanswered = nil, nil
		}
		select {
		case o := <-p.out:
			if p.writeAndReportEnd(w, o) {
				return
			}
		case <-idle.C:
			_, _ = w.Write([]byte(":\n\n"))
		case <-unanswered:
			return
		case <-r.Context().Done():
			return
		case <-ends:
			return
		}
	}
}

// writeAndReportEnd writes a message as one event for each frame. It reports whether the stream
// ends with the message, because the message is the response or can't be written.
func (p *post) writeAndReportEnd(w http.ResponseWriter, o *Out) (last bool) {
	for _, frame := range o.Frames {
		e := &Event{Data: frame, Revision: o.Revision}
		text := e.Bytes()
		if seam := p.session.options.Seams.Event; seam != nil {
			text = seam(e)
		}
		if _, err := w.Write(text); err != nil {
			return true
		}
	}
	return isFinal(o)
}
