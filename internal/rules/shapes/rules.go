// Package shapes holds the rules on the shape of messages: what the schema of a
// revision, or a standard that it names, says of a result, a notification or
// a request, told as the requirements of the catalogue.
package shapes

import "github.com/mcp-conform/mcp-conform/internal/rules"

// Rules returns the rules of the package.
func Rules() []rules.Rule {
	return nil
}
