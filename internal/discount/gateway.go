package discount

import (
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// gateway discounts what a case observed in a conversation in which an
// intermediary responded instead of the server.
type gateway struct {
	count int
	line  string // the first status line
}

func (g *gateway) observe(c Conversation) {
	for _, x := range c.Dialogue.Exchanges().All() {
		if !x.Intercepted() {
			continue
		}
		if g.count++; g.line == "" {
			g.line = x.ResponseHead().Line
		}
	}
}

func (g *gateway) discount(c *Claim) (Effect, string) {
	if !c.ByCase || spec.Requirements().Has(c.Requirement, spec.Capacity) {
		return Counts, ""
	}
	for _, x := range transcript.ExchangesOf(c.Events[c.From:]).All() {
		if x.Request != nil && x.Intercepted() {
			return Void, fmt.Sprintf("a request was answered with %q, which shows nothing about the server", wire.Excerpt(x.ResponseHead().Line, 80))
		}
	}
	return Counts, ""
}

func (g *gateway) notice() string {
	switch g.count {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("a request was answered with %q, as a proxy or a rate limit sends it; that does not count", wire.Excerpt(g.line, 80))
	default:
		return fmt.Sprintf("%d requests were answered with %q and the like, as a proxy or a rate limit sends them; they do not count", g.count, wire.Excerpt(g.line, 80))
	}
}
