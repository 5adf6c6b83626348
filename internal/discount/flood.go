package discount

import (
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// flood voids what a case observed in a conversation in which the server sent more than the client
// reads. The response may be in the part that was not read.
type flood struct{ text string }

// IsFlooded reports whether the server sent more than the client reads.
func IsFlooded(events []*transcript.Event) bool {
	return slices.ContainsFunc(events, func(e *transcript.Event) bool { return e.Kind == transcript.Flooded })
}

// IsOverlong reports whether a flood is a single message that is too long,
// rather than text or too many messages.
func IsOverlong(flood *transcript.Event) bool {
	return flood.Size > transcript.DefaultFrame && wire.LooksLikeMessage(flood.Raw)
}

func (f *flood) observe(c Conversation) {
	for _, e := range c.Events {
		if e.Kind != transcript.Flooded {
			continue
		}
		where, in := "stdout", "on stdout"
		if e.Exchange > 0 {
			where, in = "a response", "in a response"
		}
		did := "flooded " + where + " with"
		if IsOverlong(e) {
			did = "sent a message " + in + " that is longer than mcp-conform reads:"
		}
		text := fmt.Sprintf("the server %s %s, which began with %q; the rest was not judged", did, e.Detail, wire.Excerpt(string(e.Raw), 80))
		if f.text == "" || text < f.text { // the lexically first text, so that equal runs report the same flood
			f.text = text
		}
	}
}

func (f *flood) discount(c *Claim) (Effect, string) {
	if c.ByCase && IsFlooded(c.Events) {
		return Void, "the server sent more than mcp-conform can read"
	}
	return Counts, ""
}
