package suite

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// showsAnswer reports whether the last of the positions is that of something the
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

// tooLong reports whether a response to one of the requests at these positions
// came and was too long to be kept, so that the case could not read it.
func tooLong(c *client.Conversation, at []int) bool {
	events := c.Record.From(0)
	var asked []wire.ID
	for _, pos := range at {
		if pos >= len(events) || events[pos].Kind != transcript.Sent {
			continue
		}
		for _, m := range events[pos].Messages() {
			asked = append(asked, m.ID)
		}
	}
	return slices.ContainsFunc(events, func(e *transcript.Event) bool {
		return e.Kind == transcript.Received && e.Cut() && slices.ContainsFunc(e.Messages(), func(m wire.Message) bool {
			return m.Kind == wire.Response && slices.ContainsFunc(asked, m.ID.Same)
		})
	})
}
