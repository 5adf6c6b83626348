package client

import (
	"bytes"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// burstTime is what a server that serves one request after the other should
// need at most for those that are made at once.
const burstTime = 4 * time.Second

// Burst returns how many of these requests at once this server can be expected
// to answer in a few seconds, at most the given number and at least four. What
// counts is how quickly each was answered at its quickest: a machine that is
// busy makes answers late, none early. One that was not made so far in this
// conversation may take as long as the slowest of all.
func (c *Conversation) Burst(most int, requests ...[]byte) int {
	each := time.Millisecond
	for _, frame := range requests {
		each = max(each, c.quickest(frame))
	}
	return min(most, max(4, int(burstTime/each)))
}

// quickest is the least time in which a request with the method and the params
// of this one was answered.
func (c *Conversation) quickest(frame []byte) time.Duration {
	like := &wire.Parse(frame).Messages[0]
	sent := map[string]time.Duration{}
	var least time.Duration
	for _, e := range c.Record.From(0) {
		if e.Kind != transcript.Sent && e.Kind != transcript.Received {
			continue
		}
		for i := range e.Messages() {
			m := &e.Messages()[i]
			switch at, asked := sent[m.ID.Key()]; {
			case e.Kind == transcript.Sent && m.Kind == wire.Request && m.Method == like.Method && bytes.Equal(m.Params(), like.Params()):
				sent[m.ID.Key()] = e.At
			case e.Kind == transcript.Received && m.Kind == wire.Response && asked && (least == 0 || e.At-at < least):
				least = max(e.At-at, 1)
			}
		}
	}
	if least > 0 {
		return least
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slowest
}
