package refserver

import (
	"bytes"
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
	OutRequest                     // a request of the server's own
	OutNotification                // a notification
	OutBatch                       // the array of responses to a batch
)

// An Out is an outgoing message that has not been written yet.
type Out struct {
	Session  *Session
	Kind     OutKind
	Method   string        // of the message, or of the request it responds to; empty if that was unreadable
	ID       wire.ID       // absent for notifications, batches and responses to unreadable messages
	Related  wire.ID       // the client's request that a request or notification belongs to, if any
	Revision spec.Revision // negotiated; empty before initialize
	Batched  bool          // the message is an element of a batch

	// Frames are the frames to write, in one write, each followed by Terminator.
	// Initially it is the one message. An Outgoing seam may change them; without
	// frames nothing is sent.
	Frames [][]byte
	// Terminator ends each frame on stdio: a newline.
	Terminator string
}

func (s *Session) newOut(kind OutKind, method string, id wire.ID, frame []byte) *Out {
	return &Out{
		Session: s, Kind: kind, Method: method, ID: id, Revision: s.Revision(),
		Frames: [][]byte{frame}, Terminator: "\n",
	}
}

func (s *Session) resultOut(method string, id wire.ID, result any) *Out {
	return s.newOut(OutResult, method, id, wire.NewResult(id, result))
}

func (s *Session) errorOut(method string, id wire.ID, e *Error) *Out {
	return s.newOut(OutError, method, id, errorFrame(s.Revision(), id, e))
}

// sendError sends an error without an id, for a frame whose id could not be read.
func (s *Session) sendError(e *Error) { s.send(s.errorOut("", wire.ID{}, e)) }

// Notify sends a notification that belongs to no request; params may be nil.
func (s *Session) Notify(method string, params any) { s.notify(wire.ID{}, method, params) }

func (s *Session) notify(related wire.ID, method string, params any) {
	o := s.newOut(OutNotification, method, wire.ID{}, wire.NewNotification(method, params))
	o.Related = related
	s.send(o)
}

// SendRaw sends bytes as they are, bypassing the Outgoing seam.
func (s *Session) SendRaw(frame []byte) { s.emit(s.newOut(OutNotification, "", wire.ID{}, frame)) }

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

// A responder sends the responses to one frame: each by itself or, for a batch, as
// one array once all are there.
type responder struct {
	session *Session
	batch   bool

	mu      sync.Mutex
	pending int
	frames  [][]byte // by place in the batch; nil where there is no answer
}

// reserve adds a place for one more response and returns it.
func (a *responder) reserve() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending++
	a.frames = append(a.frames, nil)
	return len(a.frames) - 1
}

// deliver sends the response for a place, or keeps it for the batch; nil means that
// there is none.
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
		a.session.send(a.session.newOut(OutBatch, "", wire.ID{}, array))
	}
}
