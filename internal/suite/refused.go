package suite

import (
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// IsRefused reports whether the first POST at or after the given position was refused with a 4xx
// status. The body does not matter, because an error in it may lack the id of the request.
func IsRefused(c *client.Conversation, from int) bool {
	x := firstPost(c, from)
	return x != nil && x.Status() >= 400 && x.Status() < 500
}

// IsRefusedByStatus reports whether the first POST at or after the given position was refused
// with a 4xx status, without a JSON-RPC message in the body. Such a message is optional.
func IsRefusedByStatus(c *client.Conversation, from int) bool {
	return IsRefused(c, from) && len(firstPost(c, from).Messages()) == 0
}

// IsResumable reports whether the first POST that was sent at the given position or later got an
// event stream that ended without a message but can be resumed. The messages may still come on
// the resumed stream.
func IsResumable(c *client.Conversation, from int) bool {
	x := firstPost(c, from)
	if x == nil || !x.Succeeded() || !x.IsStream() || x.End == nil || len(x.Messages()) > 0 {
		return false
	}
	return slices.ContainsFunc(x.Body, func(e *transcript.Event) bool {
		ev := e.StreamEvent()
		return ev != nil && ev.HasID && ev.ID != "" && ev.IsComplete()
	})
}

// FirstPostFrom returns the number of the exchange of the first POST at or after the given
// position, or 0 if there is none.
func FirstPostFrom(c *client.Conversation, from int) int {
	if x := firstPost(c, from); x != nil {
		return x.Number
	}
	return 0
}

// DescribeSilence describes a missing response. Over HTTP it includes the status with which the
// first POST at or after the given position was answered.
func DescribeSilence(c *client.Conversation, from int) string {
	if x := firstPost(c, from); x != nil && x.Status() > 0 {
		return fmt.Sprintf("no response, and the POST was answered with status %d", x.Status())
	}
	return "no response"
}

func firstPost(c *client.Conversation, from int) *transcript.Exchange {
	for _, x := range transcript.ExchangesOf(c.Record.From(0)).All() {
		if x.Request != nil && x.Request.Seq >= from && x.Method() == "POST" {
			return x
		}
	}
	return nil
}
