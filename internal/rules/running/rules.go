// Package running holds the rules on work that takes time: logging,
// progress and cancellation.
package running

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
)

// Rules returns the rules of the package.
func Rules() []rules.Rule {
	return slices.Concat(loggingRules(), progressRules(), cancellationRules())
}
