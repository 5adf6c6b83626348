package script

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// An OwnMessage is a message that the client sent on its own, without an operation of the script: a
// response to a request of the server, or the cancellation of a request that was still pending when
// the conversation ended. Reports show it because it may cause the finding.
type OwnMessage struct {
	// After is the index of the operation after which the message was sent, or -1 if it was sent
	// before all operations.
	After int
	// Text describes the message. It may contain ids and methods that the server chose, so it must be
	// escaped before it is printed.
	Text string
}

// OwnMessages returns the messages that the client sent on its own, in the order
// of the operations. Consecutive equal messages are merged.
func (p *Playback) OwnMessages() []OwnMessage {
	var out []OwnMessage
	for _, t := range p.Conversations {
		d := transcript.DialogueOf(t.Events)
		var last string
		times := 0
		for _, e := range t.Events {
			if e.Kind != transcript.Sent || p.isFromOperation(t, e) {
				continue
			}
			for i := range e.Messages() {
				what, of := describeOwn(d, &e.Frame.Messages[i])
				if what == "" {
					continue
				}
				after := p.lastOperation(t, e.Seq)
				if n := len(out) - 1; n >= 0 && times > 0 && last == what && out[n].After == after {
					times++
					out[n].Text = fmt.Sprintf("%s, %d times", what, times)
					continue
				}
				last, times = what, 1
				out = append(out, OwnMessage{after, what + of})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b OwnMessage) int { return a.After - b.After })
	return out
}

// describeOwn describes a message that the client sent on its own, in two parts: what the client
// did, and a phrase to append, which names the id. Both are "" if the message needs no mention.
func describeOwn(d *transcript.Dialogue, m *wire.Message) (what, of string) {
	r := d.RequestOf(m)
	switch {
	case r == nil || m.Kind != wire.Response && m.Method != spec.MethodCancelled:
		return "", ""
	case m.Kind != wire.Response:
		return "the client cancelled " + r.Message.Method, fmt.Sprintf(" with id %s, which was still open when it left", m.ParamIDAt("/requestId").Raw())
	case m.IsError():
		return "the client refused the server's " + r.Message.Method, " with id " + m.ID.Raw()
	default:
		return "the client answered the server's " + r.Message.Method, " with id " + m.ID.Raw()
	}
}

// isFromOperation reports whether an operation sent the message of the event. A Repeat operation
// sends all messages recorded in its span.
func (p *Playback) isFromOperation(t *Conversation, e *transcript.Event) bool {
	for _, s := range t.spans {
		if e.Seq >= s.from && e.Seq < s.to && p.Script.Operations[s.operation].Do == Repeat {
			return true
		}
	}
	return slices.ContainsFunc(p.Script.Operations, func(o Operation) bool {
		return o.On == t.On && len(o.Message) > 0 && bytes.Equal(bytes.TrimSpace(o.Message), bytes.TrimSpace(e.Raw))
	})
}

// lastOperation returns the index of the last operation of the conversation that was sent before a
// position in the record, or -1. Operations that were sent in one write have the same position.
func (p *Playback) lastOperation(t *Conversation, at int) int {
	first, next := -1, len(p.Script.Operations)
	for _, s := range t.spans {
		if s.from > at {
			next = s.operation
			break
		}
		first = s.operation
	}
	out := -1
	for i := range p.Script.Operations[:next] {
		o := &p.Script.Operations[i]
		if i < first || o.On != t.On {
			continue
		}
		if out = i; o.Do == Close && i > first {
			break
		}
	}
	return out
}
