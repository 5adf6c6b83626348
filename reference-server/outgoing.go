package refserver

import (
	"bytes"
	"slices"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// OutKind says what an outgoing message is.
type OutKind int

// The kinds of outgoing messages.
const (
	OutResult       OutKind = iota // a response with a result
	OutError                       // a response with an error
	OutRequest                     // a request of the server's own
	OutNotification                // a notification
	OutBatch                       // the array of responses to a batch
)

// Out is a message on its way to the client.
type Out struct {
	Session  *Session
	Kind     OutKind
	Method   string        // the message's own, or that of the request it answers; empty where that was unreadable
	ID       wire.ID       // the message's id; absent for notifications, batches and answers to the unreadable
	Related  wire.ID       // the client's request that a request or notification belongs to, if any
	Revision spec.Revision // the negotiated one, empty before initialize
	Batched  bool          // an element of a batch's array

	// Frames are what is written, in one go, each followed by End: at first
	// the one message. An Outgoing seam may change them; none means that
	// nothing is sent.
	Frames [][]byte
	// End follows each frame on a transport that separates them; a newline.
	End string
}

func (s *Session) out(kind OutKind, method string, id wire.ID, frame []byte) *Out {
	return &Out{
		Session: s, Kind: kind, Method: method, ID: id, Revision: s.Revision(),
		Frames: [][]byte{frame}, End: "\n",
	}
}

func (s *Session) success(method string, id wire.ID, result any) *Out {
	return s.out(OutResult, method, id, wire.NewResult(id, result))
}

func (s *Session) failure(method string, id wire.ID, e *Error) *Out {
	return s.out(OutError, method, id, errorFrame(s.Revision(), id, e))
}

// refuse answers a frame that holds nothing that could be answered by id.
func (s *Session) refuse(e *Error) { s.send(s.failure("", wire.ID{}, e)) }

// Notify sends a notification that belongs to no request; params may be nil.
func (s *Session) Notify(method string, params any) { s.notify(wire.ID{}, method, params) }

func (s *Session) notify(related wire.ID, method string, params any) {
	o := s.out(OutNotification, method, wire.ID{}, wire.NewNotification(method, params))
	o.Related = related
	s.send(o)
}

// SendRaw sends bytes as they are, past the Outgoing seam.
func (s *Session) SendRaw(frame []byte) { s.emit(s.out(OutNotification, "", wire.ID{}, frame)) }

func (s *Session) send(o *Out) {
	if s.alter(o) {
		s.emit(o)
	}
}

// alter shows o to the seam and reports whether anything of it is left.
func (s *Session) alter(o *Out) bool {
	if seam := s.o.Seams.Outgoing; seam != nil {
		seam(o)
	}
	return len(o.Frames) > 0
}

// answers carries responses to the client: each by itself, or, for a batch,
// gathered into one array that is sent when the last of them is there.
type answers struct {
	s     *Session
	batch bool

	mu   sync.Mutex
	open int
	got  [][]byte // by place in the batch; nil where there is no answer
}

// begin announces one more answer and returns its place.
func (a *answers) begin() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open++
	a.got = append(a.got, nil)
	return len(a.got) - 1
}

// end brings an answer that was announced; nil when there is none after all.
func (a *answers) end(place int, o *Out) {
	if !a.batch {
		if o != nil {
			a.s.send(o)
		}
		return
	}
	var frame []byte
	if o != nil {
		o.Batched = true
		if a.s.alter(o) {
			frame = bytes.Join(o.Frames, []byte{','})
		}
	}
	a.mu.Lock()
	a.got[place] = frame
	a.open--
	var elements [][]byte
	if a.open == 0 {
		elements = slices.DeleteFunc(a.got, func(e []byte) bool { return e == nil })
	}
	a.mu.Unlock()
	if len(elements) > 0 {
		array := append(append([]byte{'['}, bytes.Join(elements, []byte{','})...), ']')
		a.s.send(a.s.out(OutBatch, "", wire.ID{}, array))
	}
}
