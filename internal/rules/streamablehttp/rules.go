// Package streamablehttp holds the rules on HTTP: Streamable HTTP, and HTTP+SSE of the first
// revision. They judge exchanges rather than messages, mostly at the end, when the outcome of
// each stream is known.
package streamablehttp

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
)

// Rules returns the rules of the package.
func Rules() []rules.Rule {
	return slices.Concat(
		postRules(),
		streamRules(),
		httpGetRules(),
		resumeRules(),
		sessionRules(),
		versionRules(),
		originRules(),
		legacyRules(),
		shutdownRules(),
		accountRules(),
		headerRules(),
		tokenRules(),
		statelessRules(),
	)
}

// judgeExchangesAtEnd returns the Start function of a rule that judges the exchanges at the end.
func judgeExchangesAtEnd(judge func(v *view, out *rules.Reporter)) func() rules.Fold {
	return rules.WithoutState(rules.Fold{AtEnd: func(s *rules.Session, out *rules.Reporter) {
		if v := viewOf(s); len(v.all) > 0 {
			judge(v, out)
		}
	}})
}
