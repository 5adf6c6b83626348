package suite

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// showsAnswer tells whether the last of the positions is that of something the
// server said, other than that there is no such session.
func showsAnswer(c *client.Conversation, at []int) bool {
	if len(at) == 0 {
		return false
	}
	events := c.Record.From(0)
	last := slices.Max(at)
	if last >= len(events) {
		return false
	}
	switch e := events[last]; e.Kind {
	case transcript.Received, transcript.Streamed, transcript.Responded:
		x := transcript.ExchangesOf(events).Of(e)
		return x == nil || x.Status() != 404
	default:
		return false
	}
}
