package rules

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Exchanges returns the HTTP exchanges so far.
func (s *Session) Exchanges() *transcript.Exchanges { return s.dialogue.Exchanges() }

// sessionless reports whether the server assigned no session to the exchange of
// the event, so that nobody can say which messages belong together.
func (s *Session) sessionless(e *transcript.Event) bool {
	x := s.Exchanges().Of(e)
	return x != nil && s.Transport == spec.StreamableHTTP && !x.RequestHead().Has("Mcp-Session-Id") && !x.ResponseHead().Has("Mcp-Session-Id")
}

// Posted returns the client's requests in the body of an exchange.
func (s *Session) Posted(x *transcript.Exchange) []*Request {
	if x.Sent == nil {
		return nil
	}
	var out []*Request
	for i := range x.Sent.Messages() {
		m := &x.Sent.Messages()[i]
		if req := s.byDialogue[s.dialogue.Of(m)]; req != nil && req.Message == m {
			out = append(out, req)
		}
	}
	return out
}

// noteExchange takes note of what befalls an HTTP exchange.
func (s *Session) noteExchange(e *transcript.Event) {
	s.dialogue.NoteExchange(e)
	x := s.Exchanges().Of(e)
	switch {
	case x == nil:
	case e.Kind == transcript.Responded && x.Status() >= 300, e.Kind == transcript.Over && e.How == transcript.Unreachable:
		for _, req := range s.Posted(x) { // the status is the answer
			req.refused, req.due = true, false
		}
	case e.Kind == transcript.Responded && x.Method() == "DELETE" && x.Succeeded():
		s.sessionEnded = true
	}
}

// over reports whether nothing more can happen in the exchange in which a was
// posted, so that what is missing is a matter of that exchange. Where answers
// come on another stream, or we gave up on this one, it is not; but a POST that
// broke before its response may never have come to the server.
func (s *Session) over(req *Request) bool {
	x := s.Exchanges().Of(req.Event)
	if x == nil || x.End == nil || x.End.How == transcript.Dropped {
		return false
	}
	return s.Transport == spec.StreamableHTTP || x.Status() == 0
}

// refusal reports whether m is the body of a response that refuses by its status
// what was posted over HTTP, and so says nothing of the request itself: the
// session may be over, the page on another host. In the handshake era no error
// of a request has such a status by order. Or the body that was posted has no
// request at all; what is wrong with the answer is judged with the status.
func (s *Session) refusal(e *transcript.Event, m *wire.Message) bool {
	x := s.Exchanges().Of(e)
	if x == nil || e.Stream != nil || !m.IsError() {
		return false
	}
	if x.Refused() && s.Era() == spec.Handshake {
		return true
	}
	posted := s.Posted(x)
	if slices.ContainsFunc(posted, func(req *Request) bool { return m.ID.Present() && req.Message.ID.Key() == m.ID.Key() }) {
		return false
	}
	return x.Refused() || len(posted) == 0
}

// copies returns the messages that came before over HTTP, on another stream:
// those that a server delivers again when a stream is resumed, and those that
// it sends on several streams. Rules on messages pass over them; that they may
// not be sent is a matter of the transport. So they do over the words of a
// refusal, which may well repeat what was posted.
func copies(events []*transcript.Event, t spec.Transport) map[*transcript.Event]bool {
	c := copyFinder{byID: map[string]*transcript.Event{}, byText: map[[sha256.Size]byte]*transcript.Event{}, out: map[*transcript.Event]bool{}}
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
	byText    map[[sha256.Size]byte]*transcript.Event
	out       map[*transcript.Event]bool
}

// words reports whether e is the body of a refusal that is no JSON.
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
	key := sha256.Sum256(e.Raw)
	first := c.byText[key]
	if first == nil {
		c.byText[key] = e
		return false
	}
	// On a stream that was not there when the message came first, it is not
	// the same one again, unless the stream goes on with another.
	x := c.exchanges.Of(e)
	there := x.Response != nil && x.Response.Seq < first.Seq || x.RequestHead().Has("Last-Event-ID")
	return there && first.Exchange != e.Exchange && !c.answersItsOwn(e, m)
}

// answersItsOwn reports whether the message is the answer to a request in the
// exchange in which it came, where it belongs.
func (c *copyFinder) answersItsOwn(e *transcript.Event, m *wire.Message) bool {
	x := c.exchanges.Of(e)
	if m.Kind != wire.Response || x.Sent == nil {
		return false
	}
	return slices.ContainsFunc(x.Sent.Messages(), func(sent wire.Message) bool { return sent.ID.Key() == m.ID.Key() })
}
