package exchange

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// errFlood says that the server sends more than the limits allow.
var errFlood = errors.New("more than can be taken in")

// sink records a body as it comes.
type sink interface {
	Write(data []byte) (int, error)
	// end records what is left; broken tells that more was to come.
	end(broken bool)
}

func (c *Client) sink(p *Pending, head *transcript.Head) sink {
	if head.MediaType() == transcript.EventStream && head.Status()/100 == 2 {
		return &pieces{c: c, p: p}
	}
	return &whole{c: c, p: p}
}

// whole records a body in one event.
type whole struct {
	c    *Client
	p    *Pending
	body []byte
}

func (w *whole) Write(data []byte) (int, error) {
	w.body = append(w.body, data...)
	if limit := w.c.Limits.orDefaults().FrameBytes; len(w.body) > limit {
		return 0, w.c.flood(w.p, fmt.Sprintf("a body of more than %d bytes", limit), w.body)
	}
	return len(data), nil
}

func (w *whole) end(broken bool) {
	if len(w.body) > 0 && w.c.admit(w.p, w.body) == nil {
		w.c.Record.Add(transcript.Event{Kind: transcript.Received, Exchange: w.p.number, Raw: w.body, Unterminated: broken})
	}
}

// pieces records an event stream piece by piece.
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
	if limit := s.c.Limits.orDefaults().FrameBytes; s.split.Pending() > limit {
		return 0, s.c.flood(s.p, fmt.Sprintf("more than %d bytes of a stream without a blank line", limit), s.split.End())
	}
	return len(data), nil
}

// record records one piece; the bytes of it are copies already.
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

func (s *pieces) end(bool) {
	if rest := s.split.End(); len(rest) > 0 && s.c.admit(s.p, rest) == nil {
		s.record(rest)
	}
}

// admit tells whether one more event of these bytes is within the limits.
func (c *Client) admit(p *Pending, data []byte) error {
	limits := c.Limits.orDefaults()
	switch {
	case c.events.Add(1) > int64(limits.Events):
		return c.flood(p, fmt.Sprintf("more than %d bodies and events", limits.Events), data)
	case c.bytes.Add(int64(len(data))) > int64(limits.TotalBytes):
		return c.flood(p, fmt.Sprintf("more than %d bytes in all", limits.TotalBytes), data)
	}
	return nil
}

// flood records, once, that the server sends too much.
func (c *Client) flood(p *Pending, what string, data []byte) error {
	c.flooded.Do(func() {
		c.Record.Add(transcript.Event{
			Kind: transcript.Flooded, Exchange: p.number, Detail: what,
			Raw: bytes.Clone(data[:min(len(data), headKept)]), Size: int64(len(data)),
		})
	})
	return errFlood
}
