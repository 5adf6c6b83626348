// Package streamablehttp holds the rules on HTTP: Streamable HTTP, and HTTP with SSE of the
// first revision. They look at exchanges rather than at messages, and mostly
// back from the end, when it is known what became of a stream.
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
		getRules(),
		resumeRules(),
		sessionRules(),
		versionRules(),
		originRules(),
		legacyRules(),
		shutdownRules(),
		accountRules(),
	)
}

// ruleOver makes the start of a rule that looks at the exchanges from the end.
func ruleOver(see func(v *view, out *rules.Reporter)) func() rules.Fold {
	return rules.Stateless(rules.Fold{AtEnd: func(s *rules.Session, out *rules.Reporter) {
		if v := viewOf(s); len(v.all) > 0 {
			see(v, out)
		}
	}})
}
