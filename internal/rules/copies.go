package rules

import (
	"bytes"
	"hash/maphash"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// findCopies returns the messages over HTTP that repeat an earlier one on another stream: those
// that a server delivers again when a stream is resumed, and those that it sends on several
// streams. Rules on messages skip them; the rules of the transport judge them. The result also
// contains the bodies of refusals that are not JSON, because they may quote what was posted.
func findCopies(events []*transcript.Event, t spec.Transport) map[*transcript.Event]bool {
	c := copyFinder{byID: map[string]*transcript.Event{}, byText: map[uint64]*transcript.Event{}, seed: maphash.MakeSeed(), out: map[*transcript.Event]bool{}}
	for _, e := range events {
		c.exchanges.Note(e)
		if e.Kind == transcript.Received && e.Exchange > 0 && !e.IsCut() && (c.isTextRefusal(e) || t == spec.StreamableHTTP && c.isRedelivered(e) || c.isBroadcast(e)) {
			c.out[e] = true
		}
	}
	return c.out
}

type copyFinder struct {
	exchanges transcript.Exchanges
	byID      map[string]*transcript.Event // events of streams by their ids
	byText    map[uint64]*transcript.Event // messages by the hash of their bytes
	seed      maphash.Seed
	out       map[*transcript.Event]bool
}

// isTextRefusal reports whether e is the body of a refusal that is not JSON.
func (c *copyFinder) isTextRefusal(e *transcript.Event) bool {
	x := c.exchanges.Of(e)
	return x != nil && x.Refused() && e.Stream == nil && x.ResponseHead().MediaType() != "application/json"
}

func (c *copyFinder) isRedelivered(e *transcript.Event) bool {
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

func (c *copyFinder) isBroadcast(e *transcript.Event) bool {
	messages := e.Messages()
	if len(messages) != 1 || e.Frame.Batch {
		return false
	}
	m := &messages[0]
	if m.Kind != wire.Request && m.Kind != wire.Response || !m.ID.IsPresent() || m.ID.IsNull() {
		return false
	}
	key := maphash.Bytes(c.seed, e.Raw)
	first := c.byText[key]
	if first == nil || !bytes.Equal(first.Raw, e.Raw) {
		c.byText[key] = e
		return false
	}
	// On a stream that did not exist when the first message came, this one is not a copy, unless
	// its stream resumes another.
	x := c.exchanges.Of(e)
	there := x.Response != nil && x.Response.Seq < first.Seq || x.RequestHead().Has("Last-Event-ID")
	answersItsOwn := m.Kind == wire.Response && x.HasRequest(m.ID) // the stream's own request has the same id
	return there && first.Exchange != e.Exchange && !answersItsOwn
}
