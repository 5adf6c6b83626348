// Package serverfeatures holds the rules on what a server offers: tools, resources, prompts and
// completion, their lists, and the notifications of changes to them.
package serverfeatures

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
)

// Rules returns the rules of the package.
func Rules() []rules.Rule {
	return slices.Concat(toolRules(), promptRules(), completionRules(), resourceRules(), pageRules())
}
