package target

import (
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/redact"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// AddVariable adds the value of a variable that the user set, as redact.Secrets.AddGiven does. A
// value that the texts of the requirement catalogue contain as a word, or as a part of one, is not
// added unless the name indicates a secret: replacing the value would make those texts unreadable
// in reports.
func AddVariable(secrets *redact.Secrets, name, value string) {
	if redact.IsSecretSetting(name) || !isOwnWord(strings.TrimSpace(value)) {
		secrets.AddGiven(name, value)
	}
}

// isOwnWord reports whether a value consists of lower-case letters, and the texts of the catalogue
// contain it.
func isOwnWord(value string) bool {
	isLetter := func(r rune) bool { return 'a' <= r && r <= 'z' }
	if value == "" || strings.TrimLeftFunc(value, isLetter) != "" {
		return false
	}
	return slices.ContainsFunc(spec.Requirements().All(), func(q *spec.Requirement) bool {
		return slices.ContainsFunc([]string{q.Statement, q.Observe, q.Why, q.Cause, q.Fix}, func(text string) bool { return strings.Contains(text, value) })
	})
}
