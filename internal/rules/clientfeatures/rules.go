// Package clientfeatures holds the rules on what a server asks of the client:
// sampling, elicitation and roots.
//
// What one request has to look like is judged by package shapes; here it is
// whether it may be sent, and how it stands to what came before.
package clientfeatures

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
)

// Rules returns the rules of the package.
func Rules() []rules.Rule {
	return slices.Concat(declaredRules(), toolRules(), formRules(), urlRules())
}
