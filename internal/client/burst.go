package client

import (
	"bytes"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// burstTime is what a server that serves one request after the other should
// need at most for those that are made at once.
const burstTime = 4 * time.Second

// BurstSize returns how many of these requests at once this server can be expected
// to answer in a few seconds, at most the given number and at least four. What
// counts is how quickly each was answered at its quickest: a machine that is
// busy makes answers late, none early. One that was not made so far in this
// conversation may take as long as the slowest of all.
func (c *Conversation) BurstSize(most int, requests ...[]byte) int {
	each := time.Millisecond
	for _, frame := range requests {
		each = max(each, c.fastestResponse(frame))
	}
	return min(most, max(4, int(burstTime/each)))
}

// fastestResponse is the least time in which a request with the method and the params
// of this one was answered.
func (c *Conversation) fastestResponse(frame []byte) time.Duration {
	like := &wire.Parse(frame).Messages[0]
	var least time.Duration
	for _, r := range c.Record.Dialogue().Requests() {
		m := r.Response()
		if m == nil || r.Message.Method != like.Method || !bytes.Equal(r.Message.Params(), like.Params()) {
			continue
		}
		if took := max(m.Event.At-r.Event.At, 1); least == 0 || took < least {
			least = took
		}
	}
	if least > 0 {
		return least
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slowest
}
