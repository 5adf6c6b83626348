package client

import (
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// counts summarize what a conversation has sent and received before position upTo. They help to
// interpret responses whose ids match no request.
type counts struct {
	upTo    int
	sentIDs map[string]bool // the keys of the ids of all messages sent
	// errorsWithoutID is how many errors without an id came over stdio since the first response
	// with the id of a request. Earlier ones do not count, because the server may still have been
	// starting.
	errorsWithoutID int
	// otherSent is how many messages were sent that are not well-formed requests. An error without
	// an id may be about any of these messages, because they have no id that the server could read.
	otherSent    int
	hasResponded bool
	// isUnlimited is set once the client has sent a frame that is not a single message. Errors
	// about such a frame may come at any time and in any number.
	isUnlimited bool
}

// add counts the event.
func (n *counts) add(e *transcript.Event) {
	n.upTo = e.Seq + 1
	switch e.Kind {
	case transcript.Sent:
		n.isUnlimited = n.isUnlimited || e.Frame.Batch || len(e.Frame.Problems) > 0 || len(e.Frame.Messages) != 1
		for i := range e.Frame.Messages {
			m := &e.Frame.Messages[i]
			n.sentIDs[m.ID.Key()] = true
			if !m.IsWellFormedRequest() {
				n.otherSent++
			}
		}
	case transcript.Received:
		for i := range e.Messages() {
			switch m := &e.Frame.Messages[i]; {
			case isErrorWithoutID(m):
				if e.Exchange == 0 && n.hasResponded { // over HTTP the exchange shows what an error is about
					n.errorsWithoutID++
				}
			case m.Kind == wire.Response && m.ID.IsPresent() && n.sentIDs[m.ID.Key()]:
				n.hasResponded = true
			}
		}
	}
}

func isErrorWithoutID(m *wire.Message) bool {
	return m.Kind == wire.Response && m.IsError() && m.Has("jsonrpc") && (!m.ID.IsPresent() || m.ID.IsNull())
}

// isUnclaimed reports whether the event holds a message that is most likely meant as the response
// to the only pending request, although it does not have the form of one:
//
//   - a response with an id that the client did not send,
//   - a result without an id,
//   - an error without an id, if there are more of these than messages that may have caused them,
//     or
//   - a JSON-RPC message with an id of the client that is neither a request nor a response.
func (c *Conversation) isUnclaimed(e *transcript.Event) bool {
	if e.Kind != transcript.Received {
		return false
	}
	for i := range e.Messages() {
		m := &e.Frame.Messages[i]
		switch {
		case m.Kind == wire.Invalid && m.Has("jsonrpc") && m.ID.IsPresent() && c.HasSent(m.ID): // a log line may have an id, too
			return true
		case m.Kind != wire.Response:
		case m.ID.IsPresent() && !m.ID.IsNull():
			if !c.HasSent(m.ID) {
				return true
			}
		case !m.Has("jsonrpc"): // the message may be a line of a log
		case m.Has("result"):
			return true
		default:
			c.mu.Lock()
			n := c.updatedCounts()
			owed := e.Exchange == 0 && !n.isUnlimited && n.errorsWithoutID > n.otherSent
			c.mu.Unlock()
			if owed {
				return true
			}
		}
	}
	return false
}

// HasSent reports whether a message with the id was sent.
func (c *Conversation) HasSent(id wire.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.updatedCounts().sentIDs[id.Key()]
}

// updatedCounts returns the counts of the whole record. The caller holds the mutex.
func (c *Conversation) updatedCounts() *counts {
	if c.counts.sentIDs == nil {
		c.counts.sentIDs = map[string]bool{}
	}
	for _, e := range c.Record.From(c.counts.upTo) {
		c.counts.add(e)
	}
	return &c.counts
}
