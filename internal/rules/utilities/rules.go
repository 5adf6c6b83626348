// Package utilities holds the rules on logging, progress and cancellation, which
// the specification calls utilities.
package utilities

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
)

// Rules returns the rules of the package.
func Rules() []rules.Rule {
	return slices.Concat(loggingRules(), requestLoggingRules(), progressRules(), cancellationRules())
}
