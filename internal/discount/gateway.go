package discount

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// gateway voids what a case observed in a conversation in which a request was intercepted (see
// transcript.Exchange.Intercepted), except for requirements about the server's capacity.
type gateway struct {
	count int
	line  string // the status line of the first intercepted response

	tokenless int      // requests without a token that got status 401
	scopeless int      // requests whose token lacked a scope
	scopes    []string // the scopes that these tokens lacked
}

func (g *gateway) observe(c Conversation) {
	for _, x := range c.Dialogue.Exchanges().All() {
		if !x.Intercepted() {
			continue
		}
		if scope, ok := x.MissingScope(); ok {
			g.scopeless++
			for _, s := range strings.Fields(scope) {
				if !slices.Contains(g.scopes, s) && len(g.scopes) < maxScopes {
					g.scopes = append(g.scopes, s)
				}
			}
			continue
		}
		if x.Status() == http.StatusUnauthorized {
			g.tokenless++
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

// maxScopes bounds the scopes that the notice names.
const maxScopes = 10

func (g *gateway) notice() string {
	var parts []string
	if g.scopeless > 0 {
		wanted := "further scopes"
		if len(g.scopes) > 0 {
			wanted = "the scopes " + wire.Excerpt(strings.Join(g.scopes, " "), 200)
		}
		parts = append(parts, fmt.Sprintf("%d requests were refused because the token lacks %s; they do not count (mcp-conform login --scope asks for scopes)", g.scopeless, wanted))
	}
	switch {
	case g.tokenless == 1:
		parts = append(parts, "a request without a token was refused with status 401, which is not counted as a failure")
	case g.tokenless > 1:
		parts = append(parts, fmt.Sprintf("%d requests without a token were refused with status 401, which is not counted as a failure", g.tokenless))
	}
	if text := g.describeIntercepted(); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// describeIntercepted describes the requests that an intermediary may have answered. It returns ""
// if there are none.
func (g *gateway) describeIntercepted() string {
	switch g.count {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("a request was answered with %q, which a proxy or a rate limit in front of the server may have sent; it was not counted", wire.Excerpt(g.line, 80))
	default:
		return fmt.Sprintf("%d requests were answered with %q and the like, which a proxy or a rate limit in front of the server may have sent; they were not counted", g.count, wire.Excerpt(g.line, 80))
	}
}
