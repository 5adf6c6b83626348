package rules

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Exchanges returns the HTTP exchanges so far.
func (s *Session) Exchanges() *transcript.Exchanges { return s.dialogue.Exchanges() }

// sessionless reports whether the server assigned no session to the exchange of the event, so
// that it is unknown which messages belong together.
func (s *Session) sessionless(e *transcript.Event) bool {
	x := s.Exchanges().Of(e)
	return x != nil && s.Transport == spec.StreamableHTTP && !x.RequestHead().Has("Mcp-Session-Id") && !x.ResponseHead().Has("Mcp-Session-Id")
}

// StreamOf returns the only request of the HTTP exchange in which an event came, or nil. In the
// stateless era the server's messages in that exchange belong to it.
func (s *Session) StreamOf(e *transcript.Event) *Request {
	x := s.Exchanges().Of(e)
	if x == nil {
		return nil
	}
	if posted := s.Posted(x); len(posted) == 1 {
		return posted[0]
	}
	return nil
}

// Posted returns the client's requests in the body of an exchange.
func (s *Session) Posted(x *transcript.Exchange) []*Request {
	if x.Sent == nil {
		return nil
	}
	var out []*Request
	for i := range x.Sent.Messages() {
		m := &x.Sent.Messages()[i]
		if req := s.requestOf(s.dialogue.Of(m)); req != nil && req.Message == m {
			out = append(out, req)
		}
	}
	return out
}

// noteExchange records the events of an HTTP exchange.
func (s *Session) noteExchange(e *transcript.Event) {
	s.dialogue.NoteExchange(e)
	x := s.Exchanges().Of(e)
	switch {
	case x == nil:
	case e.Kind == transcript.Responded && x.Status() >= 300, e.Kind == transcript.Over && e.How == transcript.Unreachable:
		for _, req := range s.Posted(x) { // the HTTP status is the response
			req.refused, req.due = true, false
		}
	case e.Kind == transcript.Responded && x.Method() == "DELETE" && x.Succeeded():
		s.sessionEnded = true
	case e.Kind == transcript.Over && e.How == transcript.Complete && s.Era() == spec.Stateless && x.Succeeded() && x.IsStream():
		for _, req := range s.Posted(x) { // there is no other stream on which the response could come
			s.overdue(req, e)
		}
	}
}

// over reports whether the exchange in which the request was posted has ended, so that a missing
// response is judged for that exchange. It returns false if responses come on another stream, or
// if the client gave up on this one. A POST that broke before its response may never have reached
// the server.
func (s *Session) over(req *Request) bool {
	x := s.Exchanges().Of(req.Event)
	if x == nil || x.End == nil || x.End.How == transcript.Dropped {
		return false
	}
	return s.Transport == spec.StreamableHTTP || x.Status() == 0
}

// refusal reports whether m is the body of an HTTP response whose status refuses the POST, so
// that it says nothing about the request itself: the session may be over, or the origin not
// allowed. In the handshake era no JSON-RPC error requires such a status; in the stateless era
// statuses that bar the client have no such errors. It also returns true if the posted body has no
// request at all: the response is then judged together with its status.
func (s *Session) refusal(e *transcript.Event, m *wire.Message) bool {
	x := s.Exchanges().Of(e)
	if x == nil || e.Stream != nil || !m.IsError() {
		return false
	}
	if x.Refused() && (s.Era() == spec.Handshake || transcript.IsBarringStatus(x.Status())) {
		return true
	}
	posted := s.Posted(x)
	if slices.ContainsFunc(posted, func(req *Request) bool { return m.ID.Present() && m.ID.Same(req.Message.ID) }) {
		return false
	}
	return x.Refused() || len(posted) == 0
}

// copies returns the messages over HTTP that repeat an earlier one on another stream: those that
// a server delivers again when a stream is resumed, and those that it sends on several streams.
// Rules on messages skip them; the rules of the transport judge them. Bodies of refusals that are
// not JSON are skipped too, because they may quote what was posted.
func copies(events []*transcript.Event, t spec.Transport) map[*transcript.Event]bool {
	c := copyFinder{byID: map[string]*transcript.Event{}, byText: map[uint64]*transcript.Event{}, seed: maphash.MakeSeed(), out: map[*transcript.Event]bool{}}
	for _, e := range events {
		c.exchanges.Note(e)
		if e.Kind == transcript.Received && e.Exchange > 0 && !e.IsCut() && (c.words(e) || t == spec.StreamableHTTP && c.redelivered(e) || c.broadcast(e)) {
			c.out[e] = true
		}
	}
	return c.out
}

type copyFinder struct {
	exchanges transcript.Exchanges
	byID      map[string]*transcript.Event // events of streams by their ids
	byText    map[uint64]*transcript.Event // by the hash of their bytes
	seed      maphash.Seed
	out       map[*transcript.Event]bool
}

// words reports whether e is the body of a refusal that is not JSON.
func (c *copyFinder) words(e *transcript.Event) bool {
	x := c.exchanges.Of(e)
	return x != nil && x.Refused() && e.Stream == nil && x.ResponseHead().MediaType() != "application/json"
}

func (c *copyFinder) redelivered(e *transcript.Event) bool {
	ev := e.StreamEvent()
	if ev == nil || ev.ID == "" {
		return false
	}
	first := c.byID[ev.ID]
	if first == nil {
		c.byID[ev.ID] = e
		return false
	}
	return c.exchanges.Of(e).RequestHead().Has("Last-Event-ID") && bytes.Equal(first.Raw, e.Raw)
}

func (c *copyFinder) broadcast(e *transcript.Event) bool {
	messages := e.Messages()
	if len(messages) != 1 || e.Frame.Batch {
		return false
	}
	m := &messages[0]
	if m.Kind != wire.Request && m.Kind != wire.Response || !m.ID.Present() || m.ID.IsNull() {
		return false
	}
	key := maphash.Bytes(c.seed, e.Raw)
	first := c.byText[key]
	if first == nil || !bytes.Equal(first.Raw, e.Raw) {
		c.byText[key] = e
		return false
	}
	// On a stream that did not exist when the first message came, this one is
	// not a copy, unless the stream resumes another.
	x := c.exchanges.Of(e)
	there := x.Response != nil && x.Response.Seq < first.Seq || x.RequestHead().Has("Last-Event-ID")
	return there && first.Exchange != e.Exchange && !c.answersItsOwn(e, m)
}

// answersItsOwn reports whether the message is the response to a request of the exchange in which
// it came, where it belongs.
func (c *copyFinder) answersItsOwn(e *transcript.Event, m *wire.Message) bool {
	x := c.exchanges.Of(e)
	if m.Kind != wire.Response || x.Sent == nil {
		return false
	}
	return slices.ContainsFunc(x.Sent.Messages(), func(sent wire.Message) bool { return m.ID.Same(sent.ID) })
}
