package streamablehttp

import (
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const tokenAccepted = "authorization.token.bearer-header-accepted"

func tokenRules() []rules.Rule {
	return []rules.Rule{{
		ID:           "rule.token-accepted",
		Title:        "a token that is accepted for a request is accepted for every equal request",
		Requirements: []string{tokenAccepted},
		Start:        judgeExchangesAtEnd(judgeTokens),
	}}
}

// judgeTokens judges refusals of a token with status 401. A refusal of a request counts only if the
// server later served an equal one with the same token, so that neither the request nor an expired
// token is the reason.
func judgeTokens(v *view, out *rules.Reporter) {
	for _, x := range v.all {
		if x.Succeeded() && hasBearerToken(x) {
			out.MarkObserved(tokenAccepted)
			break
		}
	}
	for _, r := range v.s.Exchanges().TokenRefusals() {
		if !r.Equal {
			continue
		}
		out.Report(verdict.Deviation{
			Requirement: tokenAccepted, Summary: "The server refuses a token that it accepts for an equal request.",
			Permitted: "a response, as for the equal request", Seen: r.Refused.Method() + " answered with status 401, and an equal one later with 2xx",
			At: positionsOf(r.Refused.Request, r.Refused.Sent, r.Refused.Response, r.Served.Request, r.Served.Sent, r.Served.Response),
		})
	}
}

func hasBearerToken(x *exchange) bool {
	scheme, _, _ := strings.Cut(x.RequestHead().Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer")
}
