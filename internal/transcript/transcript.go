// Package transcript records everything that happens on the connections of one conversation, in
// order: messages with their exact bytes, HTTP exchanges, stderr, and process events. Conversations
// wait for its events, rules read it and reporters quote it. A Dialogue pairs its requests with
// their outcomes.
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

// OverdueReason is the reason that a client gives when it cancels a request because it had no
// response in time. The engine recognises such cancellations by this string rather than by state of
// the run, because mcp-conform judge has only a recording of the messages, and must treat such
// requests as a run does.
const OverdueReason = "no answer in time"

// JudgedReason is like OverdueReason, but for a request whose missing response a case reports.
const JudgedReason = "no answer in time, which is reported"

// InventedCursorMark is part of every cursor that a client invents. Cursors of a server do not
// contain it.
const InventedCursorMark = "mcp-conform"

// Kind is the kind of an event.
type Kind string

// The kinds of events; exchange.go has those of HTTP.
const (
	Opened       Kind = "opened"        // the connection is open; for stdio: the process runs
	Sent         Kind = "sent"          // one frame to the server; over HTTP the body of a request
	Received     Kind = "received"      // one frame from the server; over HTTP a body, or the data of an event
	Stderr       Kind = "stderr"        // a chunk of the server's stderr
	InputClosed  Kind = "input-closed"  // the client closed the server's stdin
	Signalled    Kind = "signalled"     // the client sent the process the signal in Detail
	OutputClosed Kind = "output-closed" // end of file on the server's stdout; over HTTP, the server is gone
	Exited       Kind = "exited"        // the process ended; Detail has the exit status
	Flooded      Kind = "flooded"       // the server exceeded the limit in Detail; Raw has the head of the frame
	Remark       Kind = "remark"        // a note by mcp-conform
	CaseBegan    Kind = "case"          // the case in Detail uses the connection from here on; "" after it has ended
	GaveUp       Kind = "gave-up"       // the client stopped waiting for the response to the request at position Of
)

// Event is one entry of a transcript.
type Event struct {
	Seq  int           // position in the transcript, from 0
	At   time.Duration // since the transcript began
	Kind Kind

	// Raw is the frame without its newline (Sent, Received), the lines of the head (Requested,
	// Responded), the bytes (Stderr), or the head of the frame (Flooded).
	Raw    []byte
	Frame  *wire.Frame // the parsed frame of Sent and Received
	Detail string      // see the kinds

	// Size is the size of the frame in bytes. It exceeds len(Raw) if the frame was over the limit
	// and only its head was kept.
	Size int64
	// Unterminated is set if the stream ended before the frame's newline.
	Unterminated bool
	// Exchange is the number of the event's HTTP exchange, from 1, or 0 if it has none.
	Exchange int
	// Head is the parsed head of Requested and Responded.
	Head *Head
	// Stream is the event's chunk of an event stream, see Splitter, or nil. If it is set, Raw holds
	// the data in the chunk.
	Stream []byte
	// How is the way in which the exchange ended, in Over.
	How How
	// Obstacle, in Over, is what prevented the response, or "" if the client knows of nothing. It
	// is for advice during the run, and not written to files.
	Obstacle Obstacle
	// Reason, in Over, is why the client cancelled the requests of the exchange by closing the
	// connection, or "" if it did not. It is like the reason of notifications/cancelled, and not
	// written to files.
	Reason string
	// Of is the position of the request, in GaveUp.
	Of int
	// Short, in GaveUp, is set if the client waited for less than its timeout, so that the missing
	// response counts only if a retry, which waits longer, gets none either. In files, such an event
	// is a remark.
	Short bool
	// ExitCode is the exit code in Exited, -1 if a signal ended the process.
	ExitCode int

	payloadDropped bool // the payload of messages was dropped, even if Raw is complete
}

// IsCut reports whether only the head of the frame was kept.
func (e *Event) IsCut() bool { return e.Size > int64(len(e.Raw)) || e.payloadDropped }

// IsServerEnd reports whether the event is the end of the server: it exited, or
// closed its output.
func (e *Event) IsServerEnd() bool { return e.Kind == OutputClosed || e.Kind == Exited }

// HasExited reports whether the events show that the server's process exited.
func HasExited(events []*Event) bool {
	return slices.ContainsFunc(events, func(e *Event) bool { return e.Kind == Exited })
}

// Messages returns the JSON-RPC messages of a Sent or Received event. If only the head of the frame
// was kept, the messages have member names without values.
func (e *Event) Messages() []wire.Message {
	if e.Frame == nil {
		return nil
	}
	return e.Frame.Messages
}

// ResponseTo returns the response with the id in a Received event, or nil.
func (e *Event) ResponseTo(id wire.ID) *wire.Message {
	if e.Kind != Received {
		return nil
	}
	messages := e.Messages()
	for i := range messages {
		if messages[i].IsResponseTo(id) {
			return &messages[i]
		}
	}
	return nil
}

// Transcript records one conversation. All methods are safe for concurrent use.
type Transcript struct {
	// Clock stops while requests of the conversation are held back.
	Clock

	start time.Time

	mu       sync.Mutex
	events   []*Event
	grown    chan struct{} // closed when an event is added; nil while no caller waits
	begun    int           // the number of exchanges
	kept     int64         // weight of the server's kept output, see eventWeight
	limit    int64         // the limit of kept, see DefaultLimit
	limits   Limits
	received receivedCounts // counted by Admit
	// retracted counts the calls of Retract.
	retracted int

	budget *Budget
	held   int64 // weight counted by the budget

	dialogue growingDialogue
}

// DefaultLimit is the limit in bytes for the server's kept output: its frames and the memory of
// their messages. Above it, frames of more than 8 KiB are reduced to their head and the identity of
// their messages. Frames from the client are always kept whole. How much a server may send is
// another limit, see Admit.
const DefaultLimit = 48 << 20

const (
	// wholeKept is the weight (see eventWeight) up to which a frame is kept whole even above the
	// limit.
	wholeKept = 8 << 10
	// headKept is the size of the kept head of larger frames, and the maximum weight of their kept
	// message identities.
	headKept = wholeKept / 2
	// messageCost and memberCost are the approximate memory of a message and of a member in
	// addition to their bytes.
	messageCost = 256
	memberCost  = 128
)

// New returns an empty transcript that starts now.
func New() *Transcript { return NewWithin(nil, Limits{}) }

// NewWithin returns an empty transcript that starts now, with the limits l and the budget b. Other
// transcripts may share the budget, and it may be nil.
func NewWithin(b *Budget, l Limits) *Transcript {
	return &Transcript{start: time.Now(), limit: DefaultLimit, limits: l.withDefaults(), budget: b}
}

// StartTime returns the time when the transcript began; event times are relative to it.
func (t *Transcript) StartTime() time.Time { return t.start }

// Add records e as the newest event and returns it with Seq and At set. Raw and Stream must not be
// modified afterwards. A Requested event without a number begins the next exchange. For an event
// with Stream, Add sets Raw to the data. Unless Size exceeds the length of the data, it also sets
// Kind: to Received if the chunk carries a message, otherwise to Streamed.
func (t *Transcript) Add(e Event) *Event {
	e.setDerived()
	weight := eventWeight(&e)
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Kind == Requested {
		if e.Exchange == 0 {
			e.Exchange = t.begun + 1
		}
		t.begun = max(t.begun, e.Exchange)
	}
	if e.Kind != Sent && e.Kind != Requested {
		if weight > wholeKept && (t.kept+weight > t.limit || !t.budget.hasRoom(weight)) {
			e.dropPayload()
			weight = eventWeight(&e)
		}
		t.kept += weight
	}
	t.held += weight + eventCost
	t.budget.addHeld(weight + eventCost)
	e.Seq, e.At = len(t.events), time.Since(t.start)
	t.events = append(t.events, &e)
	if t.grown != nil {
		close(t.grown)
		t.grown = nil
	}
	return &e
}

// setDerived sets the fields that are derived from others.
func (e *Event) setDerived() {
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

// parse sets Raw to the data of Stream, if the event has a stream chunk, and parses Raw.
func (e *Event) parse() {
	if e.Stream != nil {
		e.Raw = ParseStream(e.Stream).Data
	}
	e.parseRaw()
}

// parseRaw sets Frame or Head from Raw, according to the kind of the event.
func (e *Event) parseRaw() {
	e.Frame, e.Head = nil, nil
	switch e.Kind {
	case Sent, Received:
		e.Frame = wire.Parse(e.Raw)
	case Requested, Responded:
		e.Head = ParseHead(e.Raw)
	}
}

// eventWeight returns the approximate memory of e in bytes. Member values are subslices of Raw,
// while names, ids and headers are copies. Stream contains Raw unless the data has several lines.
func eventWeight(e *Event) int64 {
	n := int64(len(e.Raw))
	if e.Stream != nil && bytes.IndexByte(e.Raw, '\n') < 0 {
		n = 0
	}
	n += int64(len(e.Stream))
	if e.Head != nil {
		n += int64(len(e.Raw) + memberCost*len(e.Head.Fields))
	}
	for i := range e.Messages() {
		n += identityWeight(&e.Frame.Messages[i])
	}
	if e.Frame != nil {
		for _, p := range e.Frame.Problems {
			n += int64(len(p.Pointer) + len(p.Detail))
		}
	}
	return n
}

// identityWeight returns the weight of a message without its payload.
func identityWeight(m *wire.Message) int64 {
	n := messageCost + len(m.ID.Raw()) + len(m.Method)
	for _, name := range m.Names {
		n += memberCost + len(name)
	}
	return int64(n)
}

// dropPayload keeps the head of the frame and the identity of its messages, and releases the rest.
func (e *Event) dropPayload() {
	e.Raw = bytes.Clone(e.Raw[:min(len(e.Raw), headKept)])
	if e.Stream != nil {
		e.Stream = bytes.Clone(e.Stream[:min(len(e.Stream), headKept)])
		e.Raw = ParseStream(e.Stream).Data
	}
	e.payloadDropped = true
	if e.Head != nil {
		e.Head = ParseHead(e.Raw)
	}
	if e.Frame != nil {
		e.Frame = &wire.Frame{Raw: e.Raw, Problems: withoutLongTexts(e.Frame.Problems), Batch: e.Frame.Batch, Messages: withoutPayload(e.Frame.Messages)}
	}
}

// withoutPayload returns the messages without payload, as many as fit in headKept.
func withoutPayload(in []wire.Message) []wire.Message {
	var out []wire.Message
	left := int64(headKept)
	for i := range in {
		m := &in[i]
		if left -= identityWeight(m); left < 0 {
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

// withoutLongTexts returns the problems without overlong pointers and details, which the server
// controls.
func withoutLongTexts(in []wire.Problem) []wire.Problem {
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

// Positions returns the positions of events in the given order. It skips nil events, and events
// that repeat the one before.
func Positions(events ...*Event) []int {
	var out []int
	for _, e := range events {
		if e != nil && (len(out) == 0 || out[len(out)-1] != e.Seq) {
			out = append(out, e.Seq)
		}
	}
	return out
}

// BeginCase records that the following events belong to the case with this id; "" ends a case.
func (t *Transcript) BeginCase(id string) *Event { return t.Add(Event{Kind: CaseBegan, Detail: id}) }

// Remark records a note by mcp-conform.
func (t *Transcript) Remark(text string) *Event { return t.Add(Event{Kind: Remark, Detail: text}) }

// Elapsed returns the time since the transcript began.
func (t *Transcript) Elapsed() time.Duration { return time.Since(t.start) }

// Len returns the number of events, which is the position of the next one.
func (t *Transcript) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.events)
}

// From returns the events from position pos >= 0 on. The caller may modify the slice but not the
// events.
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

// Wait returns the events from position pos on, and waits until there is at least one. If the
// context ends first, it returns the context's cause.
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

// next returns the events from position pos on. If there are none, it returns a channel that is
// closed when an event is added.
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
