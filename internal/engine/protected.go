package engine

import (
	"net/http"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/oauth"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// noToken is the reason why a case is blocked if the server requires a token that the run does not
// have.
const noToken = "the server requires a token, and mcp-conform was given none"

// asksForToken reports whether the server refused the opening request, which had no Authorization
// header, with status 401 and a Bearer challenge. The run can then still judge how the server
// protects itself. A server without such a challenge may use another kind of authentication.
func (p *probed) asksForToken() bool {
	return p.conv != nil && p.conv.Web() != nil && needsToken(p.conv.Record.From(0))
}

// needsToken is like asksForToken, but takes the transcript of a conversation over HTTP.
func needsToken(events []*transcript.Event) bool {
	for _, x := range transcript.ExchangesOf(events).All() {
		if x.Method() != http.MethodPost || x.Status() != http.StatusUnauthorized || x.RequestHead().Has("Authorization") {
			continue
		}
		for _, line := range x.ResponseHead().Values("WWW-Authenticate") {
			all, _ := oauth.ParseChallenges([]string{line})
			if _, ok := oauth.BearerChallenge(all); ok || strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "bearer") {
				return true // rules judge a malformed challenge
			}
		}
	}
	return false
}

// whyBlocked returns why the case can't run in the revision, or "".
func (r *offer) whyBlocked(c *suite.Case, rev spec.Revision) string {
	if r.protected && c.Unauthenticated {
		return ""
	}
	return r.whyRevisionBlocked(rev)
}
