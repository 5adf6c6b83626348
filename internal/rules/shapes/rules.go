// Package shapes holds the rules on the shape of messages: what the schema of a
// revision, or a standard that it names, requires of a result, a notification or
// a request, told as the requirements of the catalogue.
//
// Each message is validated once, by rule.message-shape. A table says which
// requirement a violation falls on, by the message that has it, the place and
// the kind: the first row that fits, and so the most specific one. What the
// schema refuses and no row knows falls on the requirement that the message as
// a whole has its shape; what stands beside the schema, and what no entry of
// the catalogue speaks of, on none. What schemas can't say is judged by rules
// of their own.
package shapes

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
)

// Rules returns the rules of the package.
func Rules() []rules.Rule {
	return slices.Concat([]rules.Rule{
		messageShape(),
		toolDefinitions(), structuredContent(), supportedDialect(),
		promptResources(), completionCounts(), emptyResults(),
	}, notifications(), requests())
}
