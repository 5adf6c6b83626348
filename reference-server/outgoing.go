package refserver

import (
	"bytes"
	"net/http"
	"slices"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// An OutKind is the kind of an outgoing message.
type OutKind int

// The kinds of outgoing messages.
const (
	OutResult       OutKind = iota // a response with a result
	OutError                       // a response with an error
	OutRequest                     // a request to the client
	OutNotification                // a notification
	OutBatch                       // the array of responses to a batch
)

// An Out is an outgoing message that has not been written yet.
type Out struct {
	Session  *Session
	Kind     OutKind
	Method   string        // of the message, or of the request it responds to; empty if the request was unreadable
	ID       wire.ID       // absent for notifications, batches and responses to unreadable messages
	Related  wire.ID       // the client's request to which a request or notification belongs, if any
	Revision spec.Revision // that of the request it belongs to, or the negotiated one; empty before initialize
	Batched  bool          // the message is an element of a batch
	Status   int           // HTTP status of a response in a stateless revision, unless a stream carries it

	// Frames are the frames to write, in one write, each followed by Terminator. Initially there
	// is one: the message. An Outgoing seam may change them; without frames nothing is sent.
	Frames [][]byte
	// Terminator ends each frame on stdio; by default it is a newline.
	Terminator string

	call *Call // the stateless call to which the message belongs; may be nil
}

func (s *Session) newOut(r spec.Revision, kind OutKind, method string, id wire.ID, frame []byte) *Out {
	return &Out{
		Session: s, Kind: kind, Method: method, ID: id, Revision: r, Status: http.StatusOK,
		Frames: [][]byte{frame}, Terminator: "\n",
	}
}

func (s *Session) errorOut(r spec.Revision, method string, id wire.ID, e *Error) *Out {
	o := s.newOut(r, OutError, method, id, errorFrame(r, id, e))
	o.Status = statusOf(e)
	return o
}

func (c *Call) resultOut(result any) *Out {
	return c.attach(c.Session.newOut(c.revision(), OutResult, c.Method, c.ID, wire.NewResult(c.ID, result)))
}

func (c *Call) errorOut(e *Error) *Out {
	return c.attach(c.Session.errorOut(c.revision(), c.Method, c.ID, e))
}

// revision returns the revision of the messages that belong to the call. For initialize
// it is the revision that the call negotiates.
func (c *Call) revision() spec.Revision {
	if c.isStateless() {
		return c.Revision
	}
	return c.Session.Revision()
}

// attach returns o. In a stateless revision it also marks o as a message of the call, because the
// stdio transport drops such messages once the call is cancelled.
func (c *Call) attach(o *Out) *Out {
	if c.isStateless() {
		o.call = c
	}
	return o
}

// isCancelled reports whether the message belongs to a request that the client has cancelled. The
// stdio transport calls it while it holds the write lock, so that no message of the request is
// written after the cancellation has taken effect. The HTTP transports do not call isCancelled.
func (o *Out) isCancelled() bool { return o.call != nil && o.call.cancelled.Load() }

// sendError sends an error without an id, for a frame whose id could not be read.
func (s *Session) sendError(e *Error) {
	s.send(s.errorOut(s.revisionOf(&wire.Message{}, false), "", wire.ID{}, e))
}

// Notify sends a notification that belongs to no request; params may be nil.
func (s *Session) Notify(method string, params any) { s.notify(wire.ID{}, method, params) }

func (s *Session) notify(related wire.ID, method string, params any) {
	s.send(s.notification(related, method, params))
}

func (s *Session) notification(related wire.ID, method string, params any) *Out {
	o := s.newOut(s.relatedRevision(related), OutNotification, method, wire.ID{}, wire.NewNotification(method, params))
	o.Related = related
	return o
}

// relatedRevision returns the revision of the messages that belong to a request of the
// client. Without such a request it returns the negotiated revision.
func (s *Session) relatedRevision(id wire.ID) spec.Revision {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.inFlight[id.Key()]; id.IsPresent() && c != nil && c.isStateless() {
		return c.Revision
	}
	return s.revision
}

// SendRaw sends bytes as they are, bypassing the Outgoing seam.
func (s *Session) SendRaw(frame []byte) {
	s.emit(s.newOut(s.Revision(), OutNotification, "", wire.ID{}, frame))
}

func (s *Session) send(o *Out) {
	if s.applyOutgoingSeam(o) {
		s.emit(o)
	}
}

// applyOutgoingSeam lets the seam change o and reports whether any frame is left.
func (s *Session) applyOutgoingSeam(o *Out) bool {
	if seam := s.options.Seams.Outgoing; seam != nil {
		seam(o)
	}
	return len(o.Frames) > 0
}

// A responder sends the responses to one frame: each response as soon as it is ready or, for a
// batch, all of them as one array when the last one is ready.
type responder struct {
	session *Session
	batch   bool

	mu      sync.Mutex
	pending int
	frames  [][]byte // by place in the batch; nil if there is no response
}

// reserve adds a place for one more response and returns it.
func (a *responder) reserve() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending++
	a.frames = append(a.frames, nil)
	return len(a.frames) - 1
}

// deliver sends a response, or keeps it at its place until the responses to the whole batch are
// complete. A nil o means that there is no response.
func (a *responder) deliver(place int, o *Out) {
	if !a.batch {
		if o != nil {
			a.session.send(o)
		}
		return
	}
	var frame []byte
	if o != nil {
		o.Batched = true
		if a.session.applyOutgoingSeam(o) {
			frame = bytes.Join(o.Frames, []byte{','})
		}
	}
	a.mu.Lock()
	a.frames[place] = frame
	a.pending--
	var elements [][]byte
	if a.pending == 0 {
		elements = slices.DeleteFunc(a.frames, func(e []byte) bool { return e == nil })
	}
	a.mu.Unlock()
	if len(elements) > 0 {
		array := append(append([]byte{'['}, bytes.Join(elements, []byte{','})...), ']')
		a.session.send(a.session.newOut(a.session.Revision(), OutBatch, "", wire.ID{}, array))
	}
}
