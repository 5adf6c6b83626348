package suite

import (
	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// StatusRefused tells whether the first POST at position from or later was
// refused over HTTP by a status alone: a body that tells why is optional there.
func StatusRefused(c *client.Conversation, from int) bool {
	for _, x := range transcript.ExchangesOf(c.Record.From(0)).All() {
		if x.Request != nil && x.Request.Seq >= from && x.Method() == "POST" {
			return x.Status() >= 400 && x.Status() < 500 && len(x.Messages()) == 0
		}
	}
	return false
}
