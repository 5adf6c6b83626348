package script

import (
	"cmp"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Playback is the result of playing a script.
type Playback struct {
	Script    Script
	Transport spec.Transport
	// Conversations are in the order in which they ended.
	Conversations []*Conversation
	// Messages is the number of frames in both directions.
	Messages int
	// Refused is the error if the player could not connect to the server, or nil.
	Refused error
	// Skipped are the indexes of the operations that were not performed.
	Skipped []int
}

// A Conversation is a conversation of a playback, after its end.
type Conversation struct {
	On     int
	Events []*transcript.Event
	// Growths are the measurements of repeated requests.
	Growths []*Growth
	// Unresponsive is set if a request that checks whether the server still responds got no
	// response in time.
	Unresponsive bool
	// Unanswered describes the first request without a response, or is "".
	// Requests that the script cancels do not count.
	Unanswered string
	// Hung is the request after which the server stopped responding, or nil. Before is the first
	// earlier request that got no response and need not get one, or nil; see firstHanging.
	Hung   *transcript.Event
	Before *wire.Message

	waitedBriefly bool                // a response did not come, for which the player waited less than the timeout
	dialogue      transcript.Dialogue // the dialogue of the events read so far
	requests      map[int]int         // the index of the operation that sent a request, by the request's position
	spans         []span
}

// span is the range of positions in the record at which the messages of an operation are.
type span struct{ operation, from, to int }

// matchRequests finds the operation that sent each request in the record. If several requests have
// the same bytes, they are matched in their order.
func (c *Conversation) matchRequests(sent []request) {
	left := make(map[string][]int, len(sent)) // indexes in sent, by the bytes of the request
	for i, a := range sent {
		left[string(a.text)] = append(left[string(a.text)], i)
	}
	c.requests = make(map[int]int, len(sent))
	for _, r := range c.dialogue.Requests() {
		text := string(r.Message.Raw)
		if same := left[text]; len(same) > 0 {
			c.requests[r.Event.Seq], left[text] = sent[same[0]].operation, same[1:]
		}
	}
}

// Request returns the request to which m belongs: m itself, or the request to which m responds,
// which m cancels, or whose progress m reports. It returns nil if there is none. The request may be
// one that no operation sent, such as initialize or the ping of a Fence.
func (c *Conversation) Request(m *wire.Message) *transcript.Request { return c.dialogue.RequestOf(m) }

// Requested returns the index of the operation that sent the request to which m belongs, see
// Request. ok is false if no operation sent it.
func (c *Conversation) Requested(m *wire.Message) (operation int, ok bool) {
	if r := c.dialogue.RequestOf(m); r != nil {
		operation, ok = c.requests[r.Event.Seq]
	}
	return operation, ok
}

// OperationOf is like Conversation.Requested, but returns the operation, or nil.
func (p *Playback) OperationOf(c *Conversation, m *wire.Message) *Operation {
	if i, ok := c.Requested(m); ok {
		return &p.Script.Operations[i]
	}
	return nil
}

// Operations returns, in order, the indexes of the operations to which the events at these
// positions belong: the operation that sent the message, or that sent the request to which the
// message responds. A notification of the server belongs to the latest operation with a pending
// request. If no event belongs to an operation, Operations returns the operations that had a
// request pending at the first of the positions.
func (c *Conversation) Operations(at []int) []int {
	var out []int
	for _, at := range at {
		if at >= len(c.Events) {
			continue
		}
		e := c.Events[at]
		for i := range e.Messages() {
			m := &e.Frame.Messages[i]
			if n, ok := c.Requested(m); ok && m.Kind != wire.Notification {
				out = append(out, n)
			}
		}
		for _, s := range c.spans {
			if at >= s.from && at < s.to {
				out = append(out, s.operation)
			}
		}
		if open := c.pendingOperations(at); isNotification(e) && len(open) > 0 {
			out = append(out, slices.Max(open))
		}
	}
	if len(out) == 0 && len(at) > 0 {
		out = c.pendingOperations(at[0])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// isNotification reports whether the event is a notification of the server.
func isNotification(e *transcript.Event) bool {
	return e.Kind == transcript.Received && slices.ContainsFunc(e.Messages(), func(m wire.Message) bool { return m.Kind == wire.Notification })
}

// pendingOperations returns the indexes of the operations whose requests were pending at a position
// in the record, because an unreadable line at that position may be the response to any of them.
func (c *Conversation) pendingOperations(at int) []int {
	var out []int
	for _, r := range c.dialogue.InFlight(at) {
		if n, ours := c.Requested(r.Message); ours {
			out = append(out, n)
		}
	}
	return out
}

// Unanswered returns a description of the first request without a response, or "".
func (p *Playback) Unanswered() string {
	for _, c := range p.Conversations {
		if c.Unanswered != "" {
			return c.Unanswered
		}
	}
	return ""
}

// WaitedBriefly reports whether a response that did not come might have come if the player had
// waited longer.
func (p *Playback) WaitedBriefly() bool {
	return p.Unanswered() != "" || slices.ContainsFunc(p.Conversations, func(c *Conversation) bool { return c.waitedBriefly })
}

// Ended describes how a server exited on its own and what it was doing, or returns "" if none did.
func (p *Playback) Ended() string {
	for _, c := range p.Conversations {
		if why := c.describeEnd(); why != "" {
			return why
		}
	}
	return ""
}

// describeEnd is like Playback.Ended, for one conversation.
func (c *Conversation) describeEnd() string {
	last := ""
	for at, e := range c.Events {
		switch e.Kind {
		case transcript.InputClosed, transcript.Signalled:
			return "" // the client asked the server to exit
		case transcript.Sent:
			for _, m := range e.Messages() {
				last = cmp.Or(m.Method, last)
			}
		case transcript.OutputClosed, transcript.Exited:
			if e.Exchange != 0 { // one exchange has ended, not the server
				continue
			}
			how, open := describeExit(c.Events[at:]), transcript.DialogueOf(c.Events).InFlight(e.Seq)
			switch {
			case len(open) > 0:
				return how + " before it answered " + describeRequest(open[0].Message.Method, open[0].Message.ID)
			case last != "":
				return how + " after " + last
			}
			return how
		}
	}
	return ""
}

const closedOutput = "the server closed its output"

// describeExit describes how a server exited, from the events that begin with the end of its
// output. After the client has closed the server's input, an exit counts as the server's own only
// if the exit code is not 0.
func describeExit(events []*transcript.Event) string {
	inputClosed := false
	for _, e := range events {
		switch e.Kind {
		case transcript.InputClosed:
			inputClosed = true
		case transcript.Signalled:
			return closedOutput
		case transcript.Exited:
			if inputClosed && e.ExitCode == 0 {
				return closedOutput
			}
			return "the server ended by itself (" + e.Detail + ")"
		}
	}
	return closedOutput
}
