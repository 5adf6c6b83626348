package suite

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// showsAnswer reports whether the last of the positions is that of a message or response from the
// server. Status 404 does not count: it only means that there is no such session.
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

// hasTooLongResponse reports whether a response to one of the requests at these
// positions was too long to be kept, so that the case could not read it.
func hasTooLongResponse(c *client.Conversation, at []int) bool {
	return c.Record.HasRequest(func(r *transcript.Request) bool {
		return slices.Contains(at, r.Event.Seq) && slices.ContainsFunc(r.Responses, func(m transcript.Message) bool { return m.Event.IsCut() })
	})
}
