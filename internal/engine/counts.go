package engine

import (
	"fmt"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// counts are the numbers of a run, see verdict.Stats.
type counts struct {
	starts, messages, sessions, requests atomic.Int64

	unjudged atomic.Int64 // conversations that there was no time to judge
}

// observe counts the messages of an ended conversation, its requests, and the sessions that they
// opened.
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

// unjudgedNotice returns a notice about conversations that there was no time to
// judge, or "".
func (c *counts) unjudgedNotice() string {
	switch n := c.unjudged.Load(); n {
	case 0:
		return ""
	case 1:
		return "one conversation was not judged: the run reached its time limit"
	default:
		return fmt.Sprintf("%d conversations were not judged: the run reached its time limit", n)
	}
}
