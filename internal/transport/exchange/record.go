package exchange

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// errFlood reports that the server exceeded the limits of the transcript.
var errFlood = errors.New("more than the limits permit")

// A Sink records the body of a response as it arrives.
type Sink interface {
	// Write adds the next bytes of the body, and records the parts that they complete. It returns
	// an error if they exceed the limits of the transcript, and records a Flooded event in that
	// case.
	Write(data []byte) (int, error)
	// End records the rest of the body. It returns an error if the rest exceeds the limits of the
	// transcript. broken reports whether the body is incomplete.
	End(broken bool) error
}

// NewSink returns a Sink for the body that follows this head, in the exchange with this number.
// The body is expected without transfer and content encodings.
func NewSink(rec *transcript.Transcript, number int, head *transcript.Head) Sink {
	o := output{rec: rec, number: number, stopped: make(chan struct{})}
	close(o.stopped) // a caller that forwards the body must not be delayed
	return o.newSink(head)
}

// output records what the server sends in one exchange.
type output struct {
	rec           *transcript.Transcript
	number        int
	stopped       chan struct{}                 // closed when the body must no longer wait for a slot of longBodies
	onStreamEvent func(*transcript.StreamEvent) // called with each event of a stream; may be nil
	long          bool                          // the output holds a slot of longBodies
}

func (c *Client) newSink(p *Pending, head *transcript.Head) Sink {
	return output{rec: c.Record, number: p.number, stopped: p.stopped, onStreamEvent: p.note}.newSink(head)
}

func (o output) newSink(head *transcript.Head) Sink {
	if head.MediaType() == transcript.EventStream && head.Status()/100 == 2 {
		return &streamSink{output: o}
	}
	return &bodySink{output: o}
}

// bodySink records a body in one event. It stores the body in parts, because growing a single slice
// would copy it and need twice the memory.
type bodySink struct {
	output
	parts [][]byte
	size  int
}

const (
	minPart  = 4 << 10
	longPart = 256 << 10
	longBody = 1 << 20
)

// longBodies limits the number of long bodies, and of long incomplete events of streams, that all
// clients read concurrently, so that a flood on every connection cannot fill the memory.
var longBodies = make(chan struct{}, 2)

// limitLongBody acquires a slot of longBodies once size exceeds longBody. If all slots are taken,
// it waits for one until the client ends the exchange.
func (o *output) limitLongBody(size int) {
	if o.long || size <= longBody {
		return
	}
	select {
	case longBodies <- struct{}{}:
		o.long = true
	case <-o.stopped:
	}
}

// release releases the slot, if there is one.
func (o *output) release() {
	if o.long {
		o.long = false
		<-longBodies
	}
}

// drop releases the body and its slot.
func (w *bodySink) drop() {
	w.parts = nil
	w.release()
}

func (w *bodySink) Write(data []byte) (int, error) {
	for left := data; len(left) > 0; {
		last := len(w.parts) - 1
		if last < 0 { // most bodies arrive in one read
			w.parts = append(w.parts, bytes.Clone(left))
			break
		}
		if len(w.parts[last]) == cap(w.parts[last]) {
			w.parts = append(w.parts, make([]byte, 0, min(longPart, max(minPart, w.size))))
			continue
		}
		n := min(len(left), cap(w.parts[last])-len(w.parts[last]))
		w.parts[last] = append(w.parts[last], left[:n]...)
		left = left[n:]
	}
	w.size += len(data)
	w.limitLongBody(w.size)
	if limit := w.rec.Limits().Frame; w.size > limit {
		begin := w.parts[0]
		w.drop()
		return 0, w.recordFlood(fmt.Sprintf("a body of more than %d bytes", limit), begin, w.size)
	}
	return len(data), nil
}

// End records the body. It keeps only the beginning of a long incomplete body, because no client
// would process such a body, and a server may leave any number of bodies unfinished.
func (w *bodySink) End(broken bool) error {
	if w.size == 0 {
		return nil
	}
	defer w.drop() // only after Add has parsed and counted the body: parsing needs ten times its size in memory
	e := transcript.Event{Kind: transcript.Received, Exchange: w.number, Raw: w.parts[0], Unterminated: broken}
	switch {
	case broken && w.size > longPart:
		e.Raw, e.Size = bytes.Clone(e.Raw[:min(len(e.Raw), headKept)]), int64(w.size)
	case len(w.parts) > 1:
		e.Raw = bytes.Join(w.parts, nil)
	}
	w.parts = nil
	if err := w.countBytes(e.Raw); err != nil {
		return err
	}
	w.rec.Add(e)
	return nil
}

// streamSink records an event stream chunk by chunk.
type streamSink struct {
	output
	split transcript.Splitter
}

func (s *streamSink) Write(data []byte) (int, error) {
	for _, piece := range s.split.Feed(data) {
		if err := s.countBytes(piece); err != nil {
			return 0, err
		}
		s.record(piece)
	}
	pending := s.split.Pending()
	if pending <= longBody {
		s.release()
	}
	s.limitLongBody(pending)
	if limit := s.rec.Limits().Frame; pending > limit {
		defer s.release()
		begin := s.split.End()
		return 0, s.recordFlood(fmt.Sprintf("more than %d bytes of a stream without a blank line", limit), begin, len(begin))
	}
	return len(data), nil
}

// record records one chunk, and keeps its bytes. It need not copy them, because the Splitter did.
func (s *streamSink) record(piece []byte) {
	e := s.rec.Add(transcript.Event{Kind: transcript.Received, Exchange: s.number, Stream: piece})
	if s.onStreamEvent == nil {
		return
	}
	if ev := e.StreamEvent(); ev != nil {
		s.onStreamEvent(ev)
	}
}

// note stores the values of an event that are needed to resume the stream.
func (p *Pending) note(ev *transcript.StreamEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ev.HasID && ev.IsComplete() {
		p.lastID = ev.ID
	}
	if ev.Retry != "" {
		p.retry = ev.Retry
	}
}

// End records the rest, an event without a blank line at its end. If the rest is long, it keeps
// only the beginning, because no client processes an incomplete event.
func (s *streamSink) End(bool) error {
	defer s.release()
	rest := s.split.End()
	if len(rest) == 0 {
		return nil
	}
	if len(rest) > longPart {
		rest = bytes.Clone(rest[:headKept])
	}
	if err := s.countBytes(rest); err != nil {
		return err
	}
	s.record(rest)
	return nil
}

// countBytes counts an event with these bytes. If the event would exceed the limits, countBytes
// records that and returns an error.
func (o output) countBytes(data []byte) error {
	if flood := o.rec.Admit(len(data)); flood != "" {
		return o.recordFlood(flood, data, len(data))
	}
	return nil
}

// recordFlood records that the server exceeded the limits in the exchange.
func (o output) recordFlood(what string, begin []byte, size int) error {
	o.rec.Add(transcript.Event{
		Kind: transcript.Flooded, Exchange: o.number, Detail: what,
		Raw: bytes.Clone(begin[:min(len(begin), headKept)]), Size: int64(size),
	})
	return errFlood
}
