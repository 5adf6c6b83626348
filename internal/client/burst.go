package client

import (
	"bytes"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// burstTime limits the time that a burst of requests should take a server that
// serves requests one by one.
const burstTime = 4 * time.Second

// BurstSize returns how many requests like the given ones the server is expected to answer within
// burstTime if they are sent at once: at least four, but no more than the maximum. For each request
// it uses the fastest response so far, because a busy machine delays responses but never speeds
// them up; the slowest of these times counts. For a request that has got no response yet, it uses
// the time that Grace is based on.
func (c *Conversation) BurstSize(most int, requests ...[]byte) int {
	each := time.Millisecond
	for _, frame := range requests {
		each = max(each, c.fastestResponse(frame))
	}
	return min(most, max(4, int(burstTime/each)))
}

// FastestResponse returns the shortest response time so far, 0 if there was no response.
func (c *Conversation) FastestResponse() time.Duration {
	return c.fastest(func(*wire.Message) bool { return true })
}

// SlowResponse is the shortest response time with which a server counts as slow, or far away. It is
// longer than the fastest response of a local server on a busy machine: that must not count as
// slow, because more concurrent requests would only slow it down.
const SlowResponse = 50 * time.Millisecond

// IsSlow reports whether the client mostly waits for the server: even its fastest response so far
// took long.
func (c *Conversation) IsSlow() bool { return c.FastestResponse() >= SlowResponse }

// fastestResponse returns the shortest response time of a request with the same
// method and params, or c.slowest if there is none.
func (c *Conversation) fastestResponse(frame []byte) time.Duration {
	like := &wire.Parse(frame).Messages[0]
	least := c.fastest(func(m *wire.Message) bool { return m.Method == like.Method && bytes.Equal(m.Params(), like.Params()) })
	if least > 0 {
		return least
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slowest
}

// fastest returns the shortest response time of the matching requests, 0 if none got a response.
func (c *Conversation) fastest(matches func(*wire.Message) bool) (least time.Duration) {
	c.Record.ReadDialogue(func(d *transcript.Dialogue) {
		for _, r := range d.Requests() {
			m := r.Response()
			if m == nil || !matches(r.Message) {
				continue
			}
			if took := max(m.Event.At-r.Event.At, 1); least == 0 || took < least {
				least = took
			}
		}
	})
	return least
}
