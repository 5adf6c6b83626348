// Package shapes holds the rules on the shape of messages: what the schema of a revision, or a
// standard that it refers to, requires of a result, a notification or a request. Violations are
// reported under the requirements of the catalogue.
//
// rule.message-shape validates each message once. A table assigns each violation to a requirement,
// by message, place and kind. Its rows are sorted from specific to general, and the first row that
// matches counts. A schema violation that matches no row belongs to the requirement on the shape of
// the message as a whole. Other violations that match no row are not reported. Rules of their own
// judge what schemas can't express.
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
	}, notificationRules(), clientFeatureRules())
}
