package exchange

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// errFlood reports that the server exceeded the limits.
var errFlood = errors.New("more than can be taken in")

// sink records a body as it arrives.
type sink interface {
	Write(data []byte) (int, error)
	// end records the rest, and returns an error if it exceeds the limits. broken means that the
	// body is incomplete.
	end(broken bool) error
}

func (c *Client) sink(p *Pending, head *transcript.Head) sink {
	if head.MediaType() == transcript.EventStream && head.Status()/100 == 2 {
		return &pieces{c: c, p: p}
	}
	return &whole{c: c, p: p}
}

// whole records a body in one event. It stores parts, because growing one slice would copy it and
// hold it twice.
type whole struct {
	c     *Client
	p     *Pending
	parts [][]byte
	size  int
	long  bool // it holds a slot of longBodies
}

const (
	leastPart = 4 << 10
	longPart  = 256 << 10
	longBody  = 1 << 20
)

// longBodies limits the number of long bodies that all clients read concurrently, so that a flood
// on every connection cannot fill the memory.
var longBodies = make(chan struct{}, 2)

// grown acquires a slot of longBodies once the body is long, unless the client ends the exchange.
func (w *whole) grown() {
	if w.long || w.size <= longBody {
		return
	}
	select {
	case longBodies <- struct{}{}:
		w.long = true
	case <-w.p.stopped:
	}
}

// drop releases the body and its slot.
func (w *whole) drop() {
	w.parts = nil
	if w.long {
		w.long = false
		<-longBodies
	}
}

func (w *whole) Write(data []byte) (int, error) {
	for left := data; len(left) > 0; {
		last := len(w.parts) - 1
		if last < 0 { // most bodies arrive in one read
			w.parts = append(w.parts, bytes.Clone(left))
			break
		}
		if len(w.parts[last]) == cap(w.parts[last]) {
			w.parts = append(w.parts, make([]byte, 0, min(longPart, max(leastPart, w.size))))
			continue
		}
		n := min(len(left), cap(w.parts[last])-len(w.parts[last]))
		w.parts[last] = append(w.parts[last], left[:n]...)
		left = left[n:]
	}
	w.size += len(data)
	w.grown()
	if limit := w.c.Record.Limits().Frame; w.size > limit {
		begin := w.parts[0]
		w.drop()
		return 0, w.c.flood(w.p, fmt.Sprintf("a body of more than %d bytes", limit), begin, w.size)
	}
	return len(data), nil
}

// end records the body. It keeps only the head of a long incomplete body, which no client
// would process: a server may leave any number of bodies unfinished.
func (w *whole) end(broken bool) error {
	if w.size == 0 {
		return nil
	}
	defer w.drop() // only after Add has parsed and counted the body: parsing takes ten times its size
	e := transcript.Event{Kind: transcript.Received, Exchange: w.p.number, Raw: w.parts[0], Unterminated: broken}
	switch {
	case broken && w.size > longPart:
		e.Raw, e.Size = bytes.Clone(e.Raw[:min(len(e.Raw), headKept)]), int64(w.size)
	case len(w.parts) > 1:
		e.Raw = bytes.Join(w.parts, nil)
	}
	w.parts = nil
	if err := w.c.admit(w.p, e.Raw); err != nil {
		return err
	}
	w.c.Record.Add(e)
	return nil
}

// pieces records an event stream chunk by chunk.
type pieces struct {
	c     *Client
	p     *Pending
	split transcript.Splitter
}

func (s *pieces) Write(data []byte) (int, error) {
	for _, piece := range s.split.Feed(data) {
		if err := s.c.admit(s.p, piece); err != nil {
			return 0, err
		}
		s.record(piece)
	}
	if limit := s.c.Record.Limits().Frame; s.split.Pending() > limit {
		begin := s.split.End()
		return 0, s.c.flood(s.p, fmt.Sprintf("more than %d bytes of a stream without a blank line", limit), begin, len(begin))
	}
	return len(data), nil
}

// record records one chunk, whose bytes are already copies.
func (s *pieces) record(piece []byte) {
	e := s.c.Record.Add(transcript.Event{Kind: transcript.Received, Exchange: s.p.number, Stream: piece})
	ev := e.StreamEvent()
	if ev == nil {
		return
	}
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if ev.HasID && ev.Complete() {
		s.p.lastID = ev.ID
	}
	if ev.Retry != "" {
		s.p.retry = ev.Retry
	}
}

func (s *pieces) end(bool) error {
	rest := s.split.End()
	if len(rest) == 0 {
		return nil
	}
	if err := s.c.admit(s.p, rest); err != nil {
		return err
	}
	s.record(rest)
	return nil
}

// admit returns an error if one more event of these bytes exceeds the limits.
func (c *Client) admit(p *Pending, data []byte) error {
	if flood := c.Record.Admit(len(data)); flood != "" {
		return c.flood(p, flood, data, len(data))
	}
	return nil
}

// flood records that the server exceeded the limits in the exchange, which then ends.
func (c *Client) flood(p *Pending, what string, begin []byte, size int) error {
	c.Record.Add(transcript.Event{
		Kind: transcript.Flooded, Exchange: p.number, Detail: what,
		Raw: bytes.Clone(begin[:min(len(begin), headKept)]), Size: int64(size),
	})
	return errFlood
}
