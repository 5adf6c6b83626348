// Package stateless checks what the stateless era, which begins with 2026-07-28, requires of
// every request: it carries its own metadata, and the server derives nothing from earlier
// requests.
package stateless

import "github.com/mcp-conform/mcp-conform/internal/suite"

// Cases returns the cases of the area stateless.
func Cases() []suite.Case {
	return append([]suite.Case{
		metadataCase(),
		anonymousCase(),
		eachMethodCase(),
		identityCase(),
		contextCase(),
		initializeCase(),
		interleavedCase(),
		connectionsCase(),
		undeclaredCase(),
		removedCase(),
		patternsCase(),
	}, mixedCases()...)
}
