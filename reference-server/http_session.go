package refserver

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// An httpSession is one client's session over Streamable HTTP. It decides which
// stream carries each message.
type httpSession struct {
	id      string
	user    string // the user that opened the session, see userOf
	handler *HTTPHandler
	session *Session
	ended   chan struct{}

	deliverMu sync.Mutex // frames are delivered one at a time
	draining  bool       // requests are refused

	mu        sync.Mutex
	streams   []*eventStream
	listening *eventStream            // opened by the newest GET; not yet opened before the first GET
	byID      map[string]*eventStream // the stream for the response, by request id
	current   *eventStream            // the stream of the frame being delivered
}

func newHTTPSession(h *HTTPHandler, id string) *httpSession {
	s := &httpSession{id: id, handler: h, ended: make(chan struct{}), byID: map[string]*eventStream{}}
	s.session = NewSession(h.ctx, h.options, s.emit)
	s.session.onUnanswered = s.endWithoutResponse
	s.session.closeConnection = s.closeConnection
	s.session.onExit = h.onExit
	s.listening = newEventStream(s, 0)
	s.streams = []*eventStream{s.listening}
	return s
}

// close cancels the session's requests and ends its streams.
func (s *httpSession) close() {
	close(s.ended)
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	s.session.Close(ctx)
}

// post handles the body of a POST. It acknowledges notifications and responses with 202. It
// responds to requests with JSON if the response is ready within jsonTimeout and no other message
// precedes it, otherwise with a stream. With JSONOnly it never opens a stream, and requests that
// get no response are acknowledged with 202, too.
func (s *httpSession) post(w http.ResponseWriter, r *http.Request, body []byte, f *wire.Frame) {
	var requestIDs []wire.ID
	for i := range f.Messages {
		if m := &f.Messages[i]; m.Kind == wire.Request || m.Kind == wire.Invalid {
			requestIDs = append(requestIDs, m.ID)
		}
	}
	if len(requestIDs) == 0 && len(f.Messages) > 0 {
		s.deliverFrame(nil, body, f)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	stream := s.openStream(requestIDs)
	if !s.deliverFrame(stream, body, f) {
		refuseHTTP(w, http.StatusServiceUnavailable, spec.CodeInternal, shuttingDown)
		return
	}
	asJSON := stream.waitForSingleResponse(r.Context(), s.jsonTimeout(f))
	if !asJSON && s.handler.options.JSONOnly { // the request was cancelled, or the session has ended
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if asJSON {
		w.Header().Set("Content-Type", jsonType)
		if stream.isRefusal {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = w.Write(stream.takeLastFrame())
		return
	}
	stream.serve(w, r, 0, true)
}

// jsonTimeout returns how long post waits for a response that it can send as JSON. With JSONOnly
// it is an hour for every request. Otherwise it is 0 for tools/call, because a tool may send
// notifications first; an hour for tasks/get, because a client that polls a task needs no stream;
// and a second for every other request.
func (s *httpSession) jsonTimeout(f *wire.Frame) time.Duration {
	if s.handler.options.JSONOnly {
		return time.Hour
	}
	for i := range f.Messages {
		switch f.Messages[i].Method {
		case spec.MethodToolsCall:
			return 0
		case spec.MethodTasksGet:
			return time.Hour
		}
	}
	return time.Second
}

// drain refuses new requests, and waits until the requests in flight have got their responses or
// ctx ends.
func (s *httpSession) drain(ctx context.Context) {
	s.deliverMu.Lock()
	s.draining = true
	s.deliverMu.Unlock()
	s.session.Wait(ctx)
}

// deliverFrame delivers a frame and returns true. stream, which is nil for a frame without
// requests, carries the errors without an id that the frame causes. During shutdown deliverFrame
// does not deliver a frame with requests, and returns false.
func (s *httpSession) deliverFrame(stream *eventStream, body []byte, f *wire.Frame) bool {
	s.deliverMu.Lock()
	defer s.deliverMu.Unlock()
	if stream != nil && s.draining {
		return false
	}
	s.mu.Lock()
	s.current = stream
	s.mu.Unlock()
	s.session.deliver(body, f)
	s.mu.Lock()
	s.current = nil
	s.mu.Unlock()
	return true
}

// openStream adds a stream for the responses to the given requests.
func (s *httpSession) openStream(requestIDs []wire.ID) *eventStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	stream := newEventStream(s, len(s.streams))
	stream.pending = max(1, len(requestIDs))
	s.streams = append(s.streams, stream)
	for _, id := range requestIDs {
		s.byID[id.Key()] = stream
	}
	return stream
}

// emit adds a message to its stream. Responses, and messages that belong to a request, go to the
// stream of the request. An error without an id goes to the stream of the frame being delivered.
// All other messages go to the listening stream. With JSONOnly the stream of a request gets only
// responses.
func (s *httpSession) emit(o *Out) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stream, answers := s.route(o)
	stream.add(o.Frames, answers, !o.ID.IsPresent() && o.Kind == OutError)
}

// route returns the stream for a message, and how many requests the message
// completes. The caller holds mu.
func (s *httpSession) route(o *Out) (*eventStream, int) {
	streamOf := func(id wire.ID) *eventStream {
		if stream := s.byID[id.Key()]; stream != nil && id.IsPresent() {
			return stream
		}
		return s.listening
	}
	switch o.Kind {
	case OutResult, OutError:
		if !o.ID.IsPresent() && s.current != nil {
			return s.current, s.current.pending
		}
		return streamOf(o.ID), 1
	case OutBatch:
		elements := wire.Parse(o.Frames[0]).Messages
		for i := range elements {
			if stream := s.byID[elements[i].ID.Key()]; stream != nil {
				return stream, len(elements)
			}
		}
		if s.current != nil { // every element of the batch got an error without an id
			return s.current, len(elements)
		}
		return s.listening, 0
	default:
		if s.handler.options.JSONOnly {
			return s.listening, 0
		}
		return streamOf(o.Related), 0
	}
}

// endWithoutResponse ends the stream of a request that gets no response.
func (s *httpSession) endWithoutResponse(id wire.ID) {
	s.mu.Lock()
	stream := s.byID[id.Key()]
	delete(s.byID, id.Key())
	s.mu.Unlock()
	if stream != nil {
		stream.add(nil, 1, false)
	}
}

// closeConnection closes the connection that carries the stream of a request. If the stream has no
// connection yet, closeConnection waits for one. The client can resume the stream. With JSONOnly
// closeConnection does nothing.
func (s *httpSession) closeConnection(ctx context.Context, id wire.ID) {
	s.mu.Lock()
	stream := s.byID[id.Key()]
	s.mu.Unlock()
	if stream != nil && !s.handler.options.JSONOnly {
		stream.closeConnection(ctx)
	}
}

// openListening returns the stream for a GET. Each GET except the first gets a new stream: if two
// GETs shared one, resuming it would repeat messages that the other GET has delivered. The earlier
// streams stay open, but get no more messages.
func (s *httpSession) openListening() *eventStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if unsent, used := s.listening.takeUnsent(); used {
		s.listening = newEventStream(s, len(s.streams))
		s.listening.frames = unsent
		s.streams = append(s.streams, s.listening)
	}
	return s.listening
}

// listen handles a GET. Without Last-Event-ID it serves a listening stream. With it, listen resumes
// the stream of the named event after that event, and refuses an id that names no stream of the
// session.
func (s *httpSession) listen(w http.ResponseWriter, r *http.Request) {
	last := r.Header.Get(eventHeader)
	if last == "" {
		s.openListening().serve(w, r, 0, true)
		return
	}
	number, seq, ok := parseEventID(last)
	s.mu.Lock()
	ok = ok && number < len(s.streams)
	var stream *eventStream
	if ok {
		stream = s.streams[number]
	}
	s.mu.Unlock()
	if !ok {
		refuseHTTP(w, http.StatusBadRequest, spec.CodeInvalidRequest, "no event of this session has the id in Last-Event-ID")
		return
	}
	stream.serve(w, r, seq+1, false)
}
