// Package transcript keeps the ordered record of everything that happened on
// the connections of one conversation: messages with their exact bytes, HTTP
// exchanges, stderr, and the life of the process. It is the one truth:
// conversations wait on it, rules fold over it, reporters quote it. A Dialogue
// has its requests, each with its outcome.
package transcript

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// OverdueReason is the reason that a client gives when it cancels a request that
// had no response in time.
const OverdueReason = "no answer in time"

// Kind says what an event is.
type Kind string

// The kinds of event; those of HTTP stand in exchange.go.
const (
	Opened       Kind = "opened"        // the connection stands; for stdio: the process runs
	Sent         Kind = "sent"          // one frame from us to the server; over HTTP the body of a request
	Received     Kind = "received"      // one frame from the server to us; over HTTP a body, or the message of an event
	Stderr       Kind = "stderr"        // a piece of the server's stderr
	InputClosed  Kind = "input-closed"  // we closed the server's stdin
	Signalled    Kind = "signalled"     // we sent the signal in Detail
	OutputClosed Kind = "output-closed" // end of file on the server's stdout
	Exited       Kind = "exited"        // the process ended; Detail says how
	Flooded      Kind = "flooded"       // the server sends more than can be taken in; Detail says what, Raw has its head
	Remark       Kind = "remark"        // the harness's own note
	CaseBegan    Kind = "case"          // the case in Detail uses the connection from here on; "" when the last has ended
	GaveUp       Kind = "gave-up"       // we stopped waiting for the answer to the request at position Of
)

// Event is one thing that happened.
type Event struct {
	Seq  int           // position in the transcript, from 0
	At   time.Duration // since the transcript began
	Kind Kind

	// Raw is, of Sent and Received, the frame without its newline; of
	// Requested and Responded the lines of the head; of Stderr the bytes; of
	// Flooded the head.
	Raw    []byte
	Frame  *wire.Frame // Sent, Received: what the bytes say
	Detail string      // all others: see the kinds

	// Size is the number of bytes that the frame had; it exceeds len(Raw)
	// when the frame was longer than the limit and only its head was kept.
	Size int64
	// Unterminated: the frame ended with the stream, not with a newline.
	Unterminated bool
	// Exchange is the number of the HTTP exchange that the event belongs to,
	// from 1; 0 where it belongs to none.
	Exchange int
	// Head is, of Requested and Responded, what the lines say.
	Head *Head
	// Stream is the piece of an event stream that the event is, see Splitter;
	// nil where it is none. Raw is its data then.
	Stream []byte
	// How is, of Over, how the exchange ended.
	How How
	// Of is, for GaveUp, the position of the request that was sent.
	Of int
	// ExitCode of Exited; -1 when a signal ended the process.
	ExitCode int

	lost bool // messages were dropped, though all of Raw was kept
}

// Cut reports whether only the head of the frame was kept.
func (e *Event) Cut() bool { return e.Size > int64(len(e.Raw)) || e.lost }

// Messages returns the JSON-RPC messages of a Sent or Received event. Those of
// a frame of which only the head was kept have lost their bytes: their members
// are there, without values.
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
	grown  chan struct{} // closed when an event is added; nil while nobody waits for that
	begun  int           // the number of exchanges
	kept   int64         // what is kept of the server's output, see weigh
	limit  int64
	limits Limits
	taken  taken // counted by Admit

	budget *Budget
	held   int64 // what the budget knows of
}

// DefaultLimit bounds, in bytes, what a transcript keeps of the server's
// output: the frames, and what it takes to hold their messages. Past it frames
// that take more than 8 KiB lose all but their head and what identifies their
// messages. Who feeds the transcript asks Admit before each frame, and what we
// send ourselves is always kept whole.
const DefaultLimit = 48 << 20

const (
	// wholeKept is the weight up to which a frame is kept whole though the
	// limit is reached.
	wholeKept = 8 << 10
	// headKept is how much is kept of the others, and again how much of that
	// which identifies their messages.
	headKept = wholeKept / 2
	// messageCost and memberCost are what it takes to hold a message, and a
	// member of one, beside the bytes, in round numbers.
	messageCost = 256
	memberCost  = 128
)

// New returns an empty transcript that begins now.
func New() *Transcript { return NewWithin(nil, Limits{}) }

// NewWithin returns an empty transcript that begins now, and is bounded by its
// own limits and by the budget that it shares with others, which may be nil.
func NewWithin(b *Budget, l Limits) *Transcript {
	return &Transcript{start: time.Now(), limit: DefaultLimit, limits: l.orDefaults(), budget: b}
}

// Began returns when the transcript began, from which the times of its events
// count.
func (t *Transcript) Began() time.Time { return t.start }

// Add records e as the newest event and returns it with Seq and At set.
// Raw and Stream must not be altered afterwards. A Requested event without a
// number begins the next exchange. Of an event with Stream, Raw is found in it;
// it is Received where it carries a message, and Streamed where it does not.
func (t *Transcript) Add(e Event) *Event {
	e.complete()
	weight := weigh(&e)
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Kind == Requested {
		if e.Exchange == 0 {
			e.Exchange = t.begun + 1
		}
		t.begun = max(t.begun, e.Exchange)
	}
	if e.Kind != Sent && e.Kind != Requested {
		if weight > wholeKept && (t.kept+weight > t.limit || !t.budget.fits(weight)) {
			e.cut()
			weight = weigh(&e)
		}
		t.kept += weight
	}
	t.held += weight + eventCost
	t.budget.hold(weight + eventCost)
	e.Seq, e.At = len(t.events), time.Since(t.start)
	t.events = append(t.events, &e)
	if t.grown != nil {
		close(t.grown)
		t.grown = nil
	}
	return &e
}

// complete sets what follows from the rest.
func (e *Event) complete() {
	if e.Stream != nil {
		ev := ParseStream(e.Stream)
		if e.Size <= int64(len(ev.Data)) {
			e.Kind = Streamed
			if ev.carriesMessage() {
				e.Kind = Received
			}
		}
		e.Raw, e.Frame = ev.Data, nil
	}
	if e.Frame == nil {
		e.parseRaw()
	}
	e.Size = max(e.Size, int64(len(e.Raw)))
}

// parse reads the bytes as the kind of the event demands.
func (e *Event) parse() {
	if e.Stream != nil {
		e.Raw = ParseStream(e.Stream).Data
	}
	e.parseRaw()
}

// parseRaw reads Raw.
func (e *Event) parseRaw() {
	e.Frame, e.Head = nil, nil
	switch e.Kind {
	case Sent, Received:
		e.Frame = wire.Parse(e.Raw)
	case Requested, Responded:
		e.Head = ParseHead(e.Raw)
	}
}

// weigh returns about how many bytes it takes to keep e. Values of members
// lie inside Raw; names, ids and headers are copies. The data of a piece of a
// stream lies inside it, but for that of several lines.
func weigh(e *Event) int64 {
	n := int64(len(e.Raw))
	if e.Stream != nil && bytes.IndexByte(e.Raw, '\n') < 0 {
		n = 0
	}
	n += int64(len(e.Stream))
	if e.Head != nil {
		n += int64(len(e.Raw) + memberCost*len(e.Head.Fields))
	}
	for i := range e.Messages() {
		n += identity(&e.Frame.Messages[i])
	}
	if e.Frame != nil {
		for _, p := range e.Frame.Problems {
			n += int64(len(p.Pointer) + len(p.Detail))
		}
	}
	return n
}

// identity is the weight of a message without its payload.
func identity(m *wire.Message) int64 {
	n := messageCost + len(m.ID.Raw()) + len(m.Method)
	for _, name := range m.Names {
		n += memberCost + len(name)
	}
	return int64(n)
}

// cut keeps the head of the frame and what identifies its messages, and lets
// go of the bytes.
func (e *Event) cut() {
	e.Raw = bytes.Clone(e.Raw[:min(len(e.Raw), headKept)])
	if e.Stream != nil {
		e.Stream = bytes.Clone(e.Stream[:min(len(e.Stream), headKept)])
		e.Raw = ParseStream(e.Stream).Data
	}
	e.lost = true
	if e.Head != nil {
		e.Head = ParseHead(e.Raw)
	}
	if e.Frame != nil {
		e.Frame = &wire.Frame{Raw: e.Raw, Problems: slimProblems(e.Frame.Problems), Batch: e.Frame.Batch, Messages: slim(e.Frame.Messages)}
	}
}

// slim drops the payload of messages, and then all that does not fit.
func slim(in []wire.Message) []wire.Message {
	var out []wire.Message
	left := int64(headKept)
	for i := range in {
		m := &in[i]
		if left -= identity(m); left < 0 {
			break
		}
		members := make(map[string]jsontext.Value, len(m.Names))
		for _, name := range m.Names {
			members[name] = nil
		}
		if m.Members == nil {
			members = nil
		}
		out = append(out, wire.Message{Kind: m.Kind, ID: m.ID, Method: m.Method, Members: members, Names: m.Names})
	}
	return out
}

// slimProblems drops pointers and details that a server made long.
func slimProblems(in []wire.Problem) []wire.Problem {
	out := slices.Clone(in)
	for i := range out {
		if len(out[i].Pointer) > headKept/8 {
			out[i].Pointer = ""
		}
		if len(out[i].Detail) > headKept/8 {
			out[i].Detail = ""
		}
	}
	return out
}

// Positions returns those of events, in the order given, without those that are
// nil or repeat the one before.
func Positions(events ...*Event) []int {
	var out []int
	for _, e := range events {
		if e != nil && (len(out) == 0 || out[len(out)-1] != e.Seq) {
			out = append(out, e.Seq)
		}
	}
	return out
}

// BeginCase records that what follows belongs to the case with this id, "" for none.
func (t *Transcript) BeginCase(id string) *Event { return t.Add(Event{Kind: CaseBegan, Detail: id}) }

// Remark records a note of the harness.
func (t *Transcript) Remark(text string) *Event { return t.Add(Event{Kind: Remark, Detail: text}) }

// Elapsed returns how long ago the transcript began.
func (t *Transcript) Elapsed() time.Duration { return time.Since(t.start) }

// Len returns the number of events, which is the position of the next one.
func (t *Transcript) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.events)
}

// From returns the events at position pos, which is 0 or more, and later. The
// slice is the caller's, the events are shared and must not be altered.
func (t *Transcript) From(pos int) []*Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.from(pos)
}

func (t *Transcript) from(pos int) []*Event {
	if pos >= len(t.events) {
		return nil
	}
	return append([]*Event(nil), t.events[pos:]...)
}

// Dialogue returns the dialogue so far.
func (t *Transcript) Dialogue() *Dialogue { return DialogueOf(t.From(0)) }

// Wait returns the events from position pos on, waiting for at least one. Only
// when there is none it ends with the context: the error is its cause.
func (t *Transcript) Wait(ctx context.Context, pos int) ([]*Event, error) {
	for {
		events, grown := t.next(pos)
		if len(events) > 0 {
			return events, nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			if events := t.From(pos); len(events) > 0 { // both may have been ready
				return events, nil
			}
			return nil, context.Cause(ctx)
		}
	}
}

// next returns the events from position pos on, or what is closed when there
// are more.
func (t *Transcript) next(pos int) ([]*Event, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if events := t.from(pos); len(events) > 0 {
		return events, nil
	}
	if t.grown == nil {
		t.grown = make(chan struct{})
	}
	return nil, t.grown
}
