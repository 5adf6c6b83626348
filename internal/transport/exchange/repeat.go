package exchange

import (
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// maxWidened limits how often a request is sent again with a token that has more scopes.
const maxWidened = 3

// prepareRepeat reports whether to send the request again after this response, and returns why the
// server refused it: because of its rate limit, or because the token lacks scopes. In the second
// case it requests a new token first, which the next attempt uses.
func (c *Client) prepareRepeat(p *Pending, r Request, head *transcript.Head) (refused string, ok bool) {
	if why, ok := c.Reach.Pacer.noteResponse(head.Status(), head.Get, p.passed, p.attempts); ok {
		return why, true
	}
	if scope, lacks := head.MissingScope(); lacks && p.widened < maxWidened && c.requestScopes(scope, r) {
		p.widened++
		return "403, because the token lacks the scope " + wire.Excerpt(scope, 80), true
	}
	return "", false
}

// requestScopes requests a token with further scopes, unless the caller has chosen the token. The
// clock is stopped meanwhile, because the server is not responsible for the time that this takes.
func (c *Client) requestScopes(scope string, r Request) bool {
	own := slices.ContainsFunc(r.Fields, func(f transcript.Field) bool { return strings.EqualFold(f.Name, "Authorization") })
	if c.Reach.ObtainScope == nil || own {
		return false
	}
	defer c.Record.Hold()()
	return c.Reach.ObtainScope(scope)
}
