// Package transcript keeps the ordered record of everything that happened on
// the connections of one conversation: messages with their exact bytes,
// stderr, and the life of the process. It is the one truth: conversations
// wait on it, rules fold over it, reporters quote it.
package transcript

import (
	"context"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Kind says what an event is.
type Kind string

// The kinds of event.
const (
	Opened       Kind = "opened"        // the connection stands; for stdio: the process runs
	Sent         Kind = "sent"          // one frame from us to the server
	Received     Kind = "received"      // one frame from the server to us
	Stderr       Kind = "stderr"        // a piece of the server's stderr
	InputClosed  Kind = "input-closed"  // we closed the server's stdin
	Signalled    Kind = "signalled"     // we sent the signal in Detail
	OutputClosed Kind = "output-closed" // end of file on the server's stdout
	Exited       Kind = "exited"        // the process ended; Detail says how
	Flooded      Kind = "flooded"       // the server sends more than can be taken in; Detail says what, Raw has its head
	Remark       Kind = "remark"        // the harness's own note, such as the name of a case
	GaveUp       Kind = "gave-up"       // we stopped waiting for the answer to the request at position Of
)

// Event is one thing that happened.
type Event struct {
	Seq  int           // position in the transcript, from 0
	At   time.Duration // since the transcript began
	Kind Kind

	Raw    []byte      // Sent, Received: the frame without its newline; Stderr: the bytes
	Frame  *wire.Frame // Sent, Received: what the bytes say
	Detail string      // Signalled, Exited, Remark

	// Size is the number of bytes that the frame had; it exceeds len(Raw)
	// when the frame was longer than the limit and only its head was kept.
	Size int64
	// Unterminated: the frame ended with the stream, not with a newline.
	Unterminated bool
	// Of is, for GaveUp, the position of the request that was sent.
	Of int
	// ExitCode of Exited; -1 when a signal ended the process.
	ExitCode int
}

// Cut tells whether only the head of the frame was kept.
func (e *Event) Cut() bool { return e.Size > int64(len(e.Raw)) }

// Messages returns the JSON-RPC messages of a Sent or Received event.
func (e *Event) Messages() []wire.Message {
	if e.Frame == nil {
		return nil
	}
	return e.Frame.Messages
}

// Transcript is the record. Its methods may be called from any goroutine.
type Transcript struct {
	start time.Time

	mu     sync.Mutex
	events []*Event
	grown  chan struct{} // closed and replaced when an event is added
	kept   int64         // bytes of Raw kept
	limit  int64
}

// DefaultLimit bounds the bytes that a transcript keeps of the server's
// output; past it only heads of frames are kept.
const DefaultLimit = 48 << 20

// headKept is how much of a frame is kept once the limit is reached.
const headKept = 4 << 10

// New returns an empty transcript that begins now.
func New() *Transcript {
	return &Transcript{start: time.Now(), grown: make(chan struct{}), limit: DefaultLimit}
}

// Add records e as the newest event and returns it with Seq and At set.
// Raw must not be altered afterwards.
func (t *Transcript) Add(e Event) *Event {
	if (e.Kind == Sent || e.Kind == Received) && e.Frame == nil {
		e.Frame = wire.Parse(e.Raw)
	}
	if e.Size == 0 {
		e.Size = int64(len(e.Raw))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Kind != Sent && t.kept+int64(len(e.Raw)) > t.limit && len(e.Raw) > headKept {
		head := append([]byte(nil), e.Raw[:headKept]...)
		e.Raw = head
		if e.Frame != nil { // what was read stays known, the bytes do not
			e.Frame = &wire.Frame{Raw: head, Problems: e.Frame.Problems, Batch: e.Frame.Batch, Messages: slim(e.Frame.Messages)}
		}
	}
	t.kept += int64(len(e.Raw))
	e.Seq, e.At = len(t.events), time.Since(t.start)
	t.events = append(t.events, &e)
	close(t.grown)
	t.grown = make(chan struct{})
	return &e
}

// slim keeps what identifies a message and drops its payload.
func slim(in []wire.Message) []wire.Message {
	out := make([]wire.Message, 0, len(in))
	for _, m := range in {
		out = append(out, wire.Message{Kind: m.Kind, ID: m.ID, Method: m.Method, Names: m.Names})
	}
	return out
}

// Remark records a note of the harness.
func (t *Transcript) Remark(text string) *Event { return t.Add(Event{Kind: Remark, Detail: text}) }

// Len returns the number of events, which is the position of the next one.
func (t *Transcript) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.events)
}

// From returns the events at position pos and later. The slice is the
// caller's, the events are shared and must not be altered.
func (t *Transcript) From(pos int) []*Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	if pos >= len(t.events) {
		return nil
	}
	return append([]*Event(nil), t.events[pos:]...)
}

// Wait returns the events from position pos on, waiting for at least one;
// it ends with the context's cause.
func (t *Transcript) Wait(ctx context.Context, pos int) ([]*Event, error) {
	for {
		t.mu.Lock()
		grown := t.grown
		have := len(t.events) > pos
		t.mu.Unlock()
		if have {
			return t.From(pos), nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
