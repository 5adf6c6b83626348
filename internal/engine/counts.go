package engine

import (
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// counts are the numbers of a run, see verdict.Stats.
type counts struct {
	starts, messages, sessions, requests atomic.Int64
}

// observe counts the messages and requests of an ended conversation, and the sessions that its
// requests opened.
func (c *counts) observe(events []*transcript.Event, d *transcript.Dialogue) {
	for _, e := range events {
		if e.Kind == transcript.Sent || e.Kind == transcript.Received {
			c.messages.Add(1)
		}
	}
	for _, q := range d.Requests() {
		c.requests.Add(1)
		if m := q.Response(); m != nil && q.Message.Method == spec.MethodInitialize && m.Has("result") {
			c.sessions.Add(1)
		}
	}
}
