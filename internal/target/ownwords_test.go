package target

import (
	"slices"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/redact"
)

// TestWordsOfTheProgram checks that a word of the program's own texts counts as a secret only if the
// name of its variable indicates one.
func TestWordsOfTheProgram(t *testing.T) {
	for _, x := range []struct {
		name, value string
		secret      bool
	}{
		{"FLAGS", "banner", false},
		{"FLAGS", "swordfish", true},
		{"FLAGS", "Banner", true},
		{"FLAGS", "banner,swordfish", true},
		{"API_KEY", "banner", true},
		{"PASSWORD", "banner", true},
	} {
		s := &redact.Secrets{}
		AddVariable(s, x.name, x.value)
		if slices.Contains(s.List(), x.value) != x.secret {
			t.Errorf("%s=%s: the secrets are %q", x.name, x.value, s.List())
		}
	}
}
