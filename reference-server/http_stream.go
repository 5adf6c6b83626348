package refserver

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// maxKeptEvents limits the events that a stream keeps for resumption.
const maxKeptEvents = 1000

// An eventStream is one stream of a session. It keeps its events so that a client can
// resume it after a broken connection.
type eventStream struct {
	session *httpSession
	number  int

	mu          sync.Mutex
	frames      [][]byte      // event n is frames[n-dropped]
	dropped     int           // how many of the oldest events were discarded
	unsent      int           // number of the first event that no connection has sent
	changed     chan struct{} // closed when the stream changes; nil until a goroutine asks for it
	connections int           // connections and calls of closeConnection so far; only the newest connection is served
	pending     int           // responses still to come; 0 for a listening stream
	listened    bool          // a GET has opened it
	ended       bool          // no more events follow
	isRefusal   bool          // the response is an error for the whole body
}

func newEventStream(s *httpSession, number int) *eventStream {
	return &eventStream{session: s, number: number}
}

// add adds a message, one event for each frame. answers is the number of requests that the message
// completes. isRefusal is true if the message is an error for the whole body. add ends the stream
// together with its last response, under one lock, because waitForSingleResponse must not see the
// response before the end.
func (e *eventStream) add(frames [][]byte, answers int, isRefusal bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, frame := range frames {
		e.frames = append(e.frames, frame)
		if len(e.frames) > maxKeptEvents {
			e.frames, e.dropped = e.frames[1:], e.dropped+1
		}
	}
	if answers > 0 && e.pending > 0 {
		e.pending -= answers
		e.isRefusal = e.isRefusal || isRefusal
		e.ended = e.ended || e.pending <= 0
	}
	e.notifyWaiters()
}

func (e *eventStream) notifyWaiters() {
	if e.changed != nil {
		close(e.changed)
		e.changed = nil
	}
}

// changes returns a channel that is closed when the stream changes. The caller
// holds mu.
func (e *eventStream) changes() <-chan struct{} {
	if e.changed == nil {
		e.changed = make(chan struct{})
	}
	return e.changed
}

// takeUnsent removes from a listening stream the messages that no connection has sent, and
// returns them. If no GET has opened the stream yet, takeUnsent marks it as opened and returns
// false.
func (e *eventStream) takeUnsent() (frames [][]byte, used bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.listened {
		e.listened = true
		return nil, false
	}
	n := max(e.unsent-e.dropped, 0)
	frames, e.frames = slices.Clone(e.frames[n:]), e.frames[:n]
	return frames, true
}

// takeLastFrame returns the last frame of a stream that has ended, to be sent as JSON, and
// marks the first event as sent. It returns nil if the stream has no frame.
func (e *eventStream) takeLastFrame() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.frames) == 0 {
		return nil
	}
	e.unsent = 1
	return e.frames[len(e.frames)-1]
}

// waitForSingleResponse reports whether the response can be sent as JSON. It waits until the
// stream has ended or another message has preceded the response, but no longer than timeout. It
// returns false if ctx or the session ends first.
func (e *eventStream) waitForSingleResponse(ctx context.Context, timeout time.Duration) bool {
	var deadline *time.Timer
	for {
		single, known, changed := e.checkSingleResponse(timeout)
		if known {
			return single
		}
		if deadline == nil {
			deadline = time.NewTimer(timeout)
			defer deadline.Stop()
		}
		select {
		case <-changed:
		case <-deadline.C:
			return false
		case <-ctx.Done():
			return false
		case <-e.session.ended:
			return false
		}
	}
}

// checkSingleResponse reports in single whether the response can be sent as JSON. If that is not
// known yet, known is false and changed is a channel that is closed when the stream changes. With a
// timeout of 0, known is always true, and single is true only if the stream has already ended.
func (e *eventStream) checkSingleResponse(timeout time.Duration) (single, known bool, changed <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, asJSON := len(e.frames), e.session.handler.options.JSONOnly
	switch {
	case e.ended:
		return n == 1 || asJSON && n > 0, true, nil
	case n > 0 && !asJSON || timeout == 0:
		return false, true, nil
	default:
		return false, false, e.changes()
	}
}

// eventsFrom returns the kept events, beginning with the event of the given number, or with the
// oldest kept event if that one was discarded. It also returns the number of the first returned
// event, and a channel that is closed when the stream changes. ended is true if the stream has
// ended or the connection is no longer the newest.
func (e *eventStream) eventsFrom(from, connection int) (frames [][]byte, first int, ended bool, changed <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if connection != e.connections {
		return nil, from, true, nil
	}
	first = max(from, e.dropped)
	if first-e.dropped < len(e.frames) {
		frames = e.frames[first-e.dropped:]
	}
	e.unsent = max(e.unsent, first+len(frames))
	return frames, first, e.ended, e.changes()
}

// addConnection registers a new connection and returns its number. Only the newest
// connection is served, because each message must go over one connection only.
func (e *eventStream) addConnection() (connection int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.connections++
	e.notifyWaiters()
	return e.connections
}

// closeConnection waits until the stream has a connection or ctx ends, and ends that
// connection.
func (e *eventStream) closeConnection(ctx context.Context) {
	for {
		e.mu.Lock()
		served, changed := e.connections > 0, e.changes()
		if served {
			e.connections++
			e.notifyWaiters()
		}
		e.mu.Unlock()
		if served {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// serve sends the events, beginning with the event of the given number. It returns when the stream,
// the session or the server ends, when the client disconnects or opens another connection, or when
// closeConnection is called. A disconnect does not cancel a request. fresh is false if the client
// resumes the stream, which then needs no priming event.
func (e *eventStream) serve(w http.ResponseWriter, r *http.Request, from int, fresh bool) {
	connection := e.addConnection()
	flush := http.NewResponseController(w).Flush
	w.Header().Set("Content-Type", streamType)
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Header().Set("Transfer-Encoding", "chunked") // otherwise net/http may add Content-Length
	w.WriteHeader(http.StatusOK)
	// The priming event lets a client resume the stream before the first message.
	if fresh && e.session.session.Revision().AtLeast(spec.V20251125) {
		_, _ = fmt.Fprintf(w, "id: %s\ndata:\n\n", eventID(e.number, from-1))
	}
	for last := false; ; {
		frames, first, ended, changed := e.eventsFrom(from, connection)
		for i, frame := range frames {
			if _, err := w.Write(e.eventBytes(first+i, frame)); err != nil {
				return
			}
		}
		from = first + len(frames)
		if len(frames) > 0 {
			continue
		}
		if ended { // net/http flushes when the response ends
			e.writeRetry(w, connection)
			return
		}
		_ = flush()
		if last {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-e.session.ended:
			return
		case <-e.session.handler.ctx.Done():
			last = true // still send the events that were added before
		}
	}
}

// writeRetry sends a retry field if the connection ends because it is no longer the newest
// of its stream.
func (e *eventStream) writeRetry(w http.ResponseWriter, connection int) {
	e.mu.Lock()
	hasSuccessor := connection != e.connections
	e.mu.Unlock()
	if hasSuccessor {
		_, _ = fmt.Fprint(w, "retry: 1000\n\n")
	}
}

// eventBytes returns the bytes of one event, which the Event seam provides if it is set.
func (e *eventStream) eventBytes(seq int, frame []byte) []byte {
	ev := &Event{Stream: e.number, ID: eventID(e.number, seq), Data: frame, Revision: e.session.session.Revision()}
	if seam := e.session.handler.options.Seams.Event; seam != nil {
		return seam(ev)
	}
	return ev.Bytes()
}

// An Event is one event of a stream.
type Event struct {
	Stream int    // number of the stream in its session; 0 is that of the first GET
	ID     string // unique in the session; empty in a stateless revision
	Data   []byte // the message

	Revision spec.Revision // that of the message in the stateless era, otherwise the negotiated one
}

// Bytes returns the lines of the event.
func (e *Event) Bytes() []byte {
	if e.ID == "" {
		return fmt.Appendf(nil, "event: message\ndata: %s\n\n", e.Data)
	}
	return fmt.Appendf(nil, "event: message\nid: %s\ndata: %s\n\n", e.ID, e.Data)
}

// eventID returns the id of event number seq of a stream. A new stream begins with a priming event,
// which has seq -1.
func eventID(stream, seq int) string { return fmt.Sprintf("%d-%d", stream, seq+1) }

func parseEventID(id string) (stream, seq int, ok bool) {
	a, b, found := strings.Cut(id, "-")
	stream, err := strconv.Atoi(a)
	seq, err2 := strconv.Atoi(b)
	return stream, seq - 1, found && err == nil && err2 == nil && stream >= 0 && seq >= 0
}
