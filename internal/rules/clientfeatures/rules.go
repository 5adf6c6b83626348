// Package clientfeatures holds the rules on what a server requests from the client: sampling,
// elicitation and roots.
//
// Package shapes judges the form of each single request. This package judges whether a request
// may be sent, and whether it fits the messages before it.
package clientfeatures

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
)

// Rules returns the rules of the package.
func Rules() []rules.Rule {
	return slices.Concat(declaredRules(), toolRules(), formRules(), urlRules())
}
