package refserver

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// httpSession is one client's session over Streamable HTTP: it says on which
// stream each message goes.
type httpSession struct {
	id      string
	h       *HTTPHandler
	session *Session
	ended   chan struct{}

	deliver  sync.Mutex // frames are delivered one at a time
	draining bool       // no more requests are

	mu      sync.Mutex
	streams []*eventStream
	byID    map[string]*eventStream // where the answer to a request goes
	current *eventStream            // that of the frame being delivered
}

func newHTTPSession(h *HTTPHandler, id string) *httpSession {
	s := &httpSession{id: id, h: h, ended: make(chan struct{}), byID: map[string]*eventStream{}}
	s.session = NewSession(h.ctx, h.o, s.emit)
	s.session.over = s.unanswered
	s.session.hangUp = s.hangUp
	s.session.died = h.died
	s.streams = []*eventStream{newEventStream(s, 0)}
	return s
}

// close ends the session: its requests are cancelled, its streams end.
func (s *httpSession) close() {
	close(s.ended)
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	s.session.Close(ctx)
}

// post takes one body. What is no request is acknowledged; a request is
// answered by JSON where nothing precedes its answer, and by a stream else.
func (s *httpSession) post(w http.ResponseWriter, r *http.Request, body []byte, f *wire.Frame) {
	var asks []wire.ID
	for i := range f.Messages {
		if m := &f.Messages[i]; m.Kind == wire.Request || m.Kind == wire.Invalid {
			asks = append(asks, m.ID)
		}
	}
	if len(asks) == 0 && len(f.Messages) > 0 {
		s.take(nil, body, f)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	stream := s.open(asks)
	if !s.take(stream, body, f) {
		refuseHTTP(w, http.StatusServiceUnavailable, spec.CodeInternal, ending)
		return
	}
	one := stream.single(r.Context(), s.patience(f))
	if !one && s.h.o.JSONOnly { // cancelled, or the session is over
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if one {
		w.Header().Set("Content-Type", jsonType)
		if stream.refusal {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = w.Write(stream.first())
		return
	}
	stream.serve(w, r, 0, true)
}

// patience is how long an answer may take to be sent as JSON: tools may say
// more than their answer, and a client that polls wants no stream.
func (s *httpSession) patience(f *wire.Frame) time.Duration {
	if s.h.o.JSONOnly {
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

// drain waits until the requests in progress are answered, or the context has
// ended; no more of them are taken.
func (s *httpSession) drain(ctx context.Context) {
	s.deliver.Lock()
	s.draining = true
	s.deliver.Unlock()
	s.session.Wait(ctx)
}

// take delivers a frame; what it brings about at once goes to the stream. It
// tells false where a request comes too late.
func (s *httpSession) take(stream *eventStream, body []byte, f *wire.Frame) bool {
	s.deliver.Lock()
	defer s.deliver.Unlock()
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

// open makes a stream for the answers to requests.
func (s *httpSession) open(asks []wire.ID) *eventStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	stream := newEventStream(s, len(s.streams))
	stream.owed = max(1, len(asks))
	s.streams = append(s.streams, stream)
	for _, id := range asks {
		s.byID[id.Key()] = stream
	}
	return stream
}

// emit puts a message on its stream: an answer on that of its request, what
// belongs to a request on the same, all else where the client listens.
func (s *httpSession) emit(o *Out) {
	stream, answers := s.route(o)
	stream.add(o.Frames, answers, !o.ID.Present() && o.Kind == OutError)
}

// route returns the stream of a message and how many requests it answers.
func (s *httpSession) route(o *Out) (*eventStream, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := func(id wire.ID) *eventStream {
		if stream := s.byID[id.Key()]; stream != nil && id.Present() {
			return stream
		}
		return s.streams[0]
	}
	switch o.Kind {
	case OutResult, OutError:
		if !o.ID.Present() && s.current != nil {
			return s.current, s.current.owed
		}
		return at(o.ID), 1
	case OutBatch:
		elements := wire.Parse(o.Frames[0]).Messages
		for i := range elements {
			if stream := s.byID[elements[i].ID.Key()]; stream != nil {
				return stream, len(elements)
			}
		}
		if s.current != nil { // each of its elements was refused at once
			return s.current, len(elements)
		}
		return s.streams[0], 0
	default:
		if s.h.o.JSONOnly {
			return s.streams[0], 0
		}
		return at(o.Related), 0
	}
}

// unanswered ends the stream of a request that gets no answer.
func (s *httpSession) unanswered(id wire.ID) {
	s.mu.Lock()
	stream := s.byID[id.Key()]
	delete(s.byID, id.Key())
	s.mu.Unlock()
	if stream != nil {
		stream.add(nil, 1, false)
	}
}

// hangUp closes the connection that waits for the answer to a request: the
// client can take up its stream again.
func (s *httpSession) hangUp(ctx context.Context, id wire.ID) {
	s.mu.Lock()
	stream := s.byID[id.Key()]
	s.mu.Unlock()
	if stream != nil && !s.h.o.JSONOnly {
		stream.hangUp(ctx)
	}
}

// listen serves a GET: the stream for what comes unasked, or, with the id of
// an event, the stream of that event from there on.
func (s *httpSession) listen(w http.ResponseWriter, r *http.Request) {
	last := r.Header.Get(eventHeader)
	if last == "" {
		s.streams[0].serve(w, r, s.streams[0].sent(), true)
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
