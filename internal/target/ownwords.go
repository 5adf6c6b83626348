package target

import (
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/redact"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// addVariable adds the value of a variable that the user set, as redact.Secrets.AddGiven does. A
// value that the program's own texts contain as a word, or as a part of one, is an ordinary setting
// unless the name indicates a secret: replacing it would make those texts unreadable.
func addVariable(secrets *redact.Secrets, name, value string) {
	if redact.IsSecretSetting(name) || !isOwnWord(strings.TrimSpace(value)) {
		secrets.AddGiven(name, value)
	}
}

// isOwnWord reports whether a value consists of lower-case letters, and the texts of the catalogue
// contain it.
func isOwnWord(value string) bool {
	isLetter := func(r rune) bool { return 'a' <= r && r <= 'z' }
	return value != "" && strings.TrimLeftFunc(value, isLetter) == "" && strings.Contains(ownTexts(), value)
}

// ownTexts returns the texts of the catalogue.
var ownTexts = sync.OnceValue(func() string {
	var out strings.Builder
	for _, q := range spec.Requirements().All() {
		for _, text := range []string{q.Statement, q.Observe, q.Why, q.Cause, q.Fix} {
			out.WriteString(text + "\n")
		}
	}
	return out.String()
})
