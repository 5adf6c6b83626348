// Package asking holds the rules on what a server asks of the client: sampling,
// elicitation and roots.
package asking

import "github.com/mcp-conform/mcp-conform/internal/rules"

// Rules returns the rules of the package.
func Rules() []rules.Rule {
	return nil
}
