package client

import (
	"bytes"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// burstTime is how long a server that serves requests one by one should need for a burst of
// requests.
const burstTime = 4 * time.Second

// BurstSize returns how many requests like the given ones a caller should send at once: as many as
// the server is expected to answer one by one within burstTime, but at least four, and not more
// than the first argument. The estimate for each request is its fastest response so far, because a
// busy machine delays responses but never speeds them up. Without a response, the estimate is the
// slowest response that Grace is based on. The request with the greatest estimate decides.
func (c *Conversation) BurstSize(most int, requests ...[]byte) int {
	each := time.Millisecond
	for _, frame := range requests {
		each = max(each, c.fastestResponse(frame))
	}
	return min(most, max(4, int(burstTime/each)))
}

// FastestResponse returns the shortest response time in this conversation so far, or 0 if there was
// no response.
func (c *Conversation) FastestResponse() time.Duration {
	return c.fastest(func(*wire.Message) bool { return true })
}

// SlowResponse is the limit that IsSlow uses: a server whose fastest response took this long or
// longer is slow, or far away. The fastest response of a local server takes less even on a busy
// machine. A local server must not count as slow, because more concurrent requests would only slow
// it down.
const SlowResponse = 50 * time.Millisecond

// IsSlow reports whether even the server's fastest response so far took at least SlowResponse, so
// that the client spends most of its time waiting.
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

// fastest returns the shortest response time of the matching requests, or 0 if none got a response.
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
