package refserver

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// maxKept bounds the events of one stream that can be sent again.
const maxKept = 1000

// eventStream is one stream of a session: its events are kept, so that a
// client whose connection broke can have them again.
type eventStream struct {
	s      *httpSession
	number int

	mu      sync.Mutex
	frames  [][]byte      // events by their number less dropped
	dropped int           // events that are not kept any more
	next    int           // the first event that no connection has sent
	grown   chan struct{} // closed when there is news; nil while nobody waits for any
	claims  int           // connections so far; only the newest is served
	owed    int           // answers that are still to come; the listening stream owes none
	over    bool          // nothing more comes
	refusal bool          // the answer refuses the body as a whole
}

func newEventStream(s *httpSession, number int) *eventStream {
	return &eventStream{s: s, number: number}
}

// add puts a message on the stream: as the events that make it up, and with
// how many requests it answers. The last answer ends the stream, in the same
// moment: who waits for a stream of one answer must not see it half done.
func (e *eventStream) add(frames [][]byte, answers int, refusal bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, frame := range frames {
		e.frames = append(e.frames, frame)
		if len(e.frames) > maxKept {
			e.frames, e.dropped = e.frames[1:], e.dropped+1
		}
	}
	if answers > 0 && e.number > 0 {
		e.owed -= answers
		e.refusal = e.refusal || refusal
		e.over = e.over || e.owed <= 0
	}
	e.wake()
}

func (e *eventStream) wake() {
	if e.grown != nil {
		close(e.grown)
		e.grown = nil
	}
}

// news returns what is closed when there is news; the lock is held.
func (e *eventStream) news() <-chan struct{} {
	if e.grown == nil {
		e.grown = make(chan struct{})
	}
	return e.grown
}

// sent returns the number of the first event that was never sent.
func (e *eventStream) sent() int { e.mu.Lock(); defer e.mu.Unlock(); return e.next }

// first returns the only event of a stream that is over.
func (e *eventStream) first() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.frames) == 0 {
		return nil
	}
	e.next = 1
	return e.frames[len(e.frames)-1]
}

// single waits for the stream to be over with one message alone, and tells
// whether that is so.
func (e *eventStream) single(ctx context.Context, patience time.Duration) bool {
	var deadline *time.Timer
	for {
		one, known, grown := e.alone(patience)
		if known {
			return one
		}
		if deadline == nil {
			deadline = time.NewTimer(patience)
			defer deadline.Stop()
		}
		select {
		case <-grown:
		case <-deadline.C:
			return false
		case <-ctx.Done():
			return false
		case <-e.s.ended:
			return false
		}
	}
}

// alone tells, where that is known already, whether the stream is over with one
// message alone; else what to wait for.
func (e *eventStream) alone(patience time.Duration) (one, known bool, grown <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, asJSON := len(e.frames), e.s.h.o.JSONOnly
	switch {
	case e.over:
		return n == 1 || asJSON && n > 0, true, nil
	case n > 0 && !asJSON || patience == 0:
		return false, true, nil
	default:
		return false, false, e.news()
	}
}

// since returns the events from a number on, and what to wait for if there
// are none.
func (e *eventStream) since(from, claim int) (frames [][]byte, first int, over bool, grown <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if claim != e.claims {
		return nil, from, true, nil
	}
	first = max(from, e.dropped)
	if first-e.dropped < len(e.frames) {
		frames = e.frames[first-e.dropped:]
	}
	e.next = max(e.next, first+len(frames))
	return frames, first, e.over, e.news()
}

// claim makes a connection the one that is served: each message goes over one
// connection only.
func (e *eventStream) claim() (claims int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.claims++
	e.wake()
	return e.claims
}

// hangUp ends the connection that is served, once there is one.
func (e *eventStream) hangUp(ctx context.Context) {
	for {
		e.mu.Lock()
		served, grown := e.claims > 0, e.news()
		if served {
			e.claims++
			e.wake()
		}
		e.mu.Unlock()
		if served {
			return
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return
		}
	}
}

// serve sends the events from a number on until the stream is over, the client
// hangs up or comes over another connection, or the session ends. That a client
// hangs up cancels nothing.
func (e *eventStream) serve(w http.ResponseWriter, r *http.Request, from int, fresh bool) {
	claim := e.claim()
	flush := http.NewResponseController(w).Flush
	w.Header().Set("Content-Type", streamType)
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Header().Set("Transfer-Encoding", "chunked") // also where all of it is there already
	w.WriteHeader(http.StatusOK)
	// The priming event lets a client come back though nothing was said yet.
	if fresh && e.s.session.Revision().AtLeast(spec.V20251125) {
		_, _ = fmt.Fprintf(w, "id: %s\ndata:\n\n", eventID(e.number, from-1))
	}
	for last := false; ; {
		frames, first, over, grown := e.since(from, claim)
		for i, frame := range frames {
			if _, err := w.Write(e.event(first+i, frame)); err != nil {
				return
			}
		}
		from = first + len(frames)
		if len(frames) > 0 {
			continue
		}
		if over { // what was not flushed goes with the end of the response
			e.part(w, claim)
			return
		}
		_ = flush()
		if last {
			return
		}
		select {
		case <-grown:
		case <-r.Context().Done():
			return
		case <-e.s.ended:
			return
		case <-e.s.h.ctx.Done():
			last = true // what was said before is still sent
		}
	}
}

// part says, before the connection of a stream is closed that goes on over
// another, when the client may come back.
func (e *eventStream) part(w http.ResponseWriter, claim int) {
	e.mu.Lock()
	goesOn := claim != e.claims
	e.mu.Unlock()
	if goesOn {
		_, _ = fmt.Fprint(w, "retry: 1000\n\n")
	}
}

// event writes one event; a seam may write it otherwise.
func (e *eventStream) event(seq int, frame []byte) []byte {
	ev := &Event{Stream: e.number, ID: eventID(e.number, seq), Data: frame}
	if seam := e.s.h.o.Seams.Event; seam != nil {
		return seam(ev)
	}
	return ev.Bytes()
}

// Event is one event of a stream.
type Event struct {
	Stream int    // its number in the session; 0 is what a GET opens
	ID     string // unique in the session
	Data   []byte // the message
}

// Bytes returns the lines of the event.
func (e *Event) Bytes() []byte {
	return fmt.Appendf(nil, "event: message\nid: %s\ndata: %s\n\n", e.ID, e.Data)
}

// eventID names an event of a stream; the priming event has the number -1.
func eventID(stream, seq int) string { return fmt.Sprintf("%d-%d", stream, seq+1) }

func parseEventID(id string) (stream, seq int, ok bool) {
	a, b, found := strings.Cut(id, "-")
	stream, err := strconv.Atoi(a)
	seq, err2 := strconv.Atoi(b)
	return stream, seq - 1, found && err == nil && err2 == nil && stream >= 0 && seq >= 0
}
