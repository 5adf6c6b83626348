package target

import (
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/redact"
)

// TestCredential checks which values of variables are accepted as secrets, and that a secret which
// is given in place of a variable's name is not shown.
func TestCredential(t *testing.T) {
	environ := map[string]string{
		"GOOD": " abc-123 \n", "myToken": "abc-123", "EMPTY": " ", "WORD": "bearer abc-123", "LINES": "abc\n123", "SPACE": "abc 123", "UMLAUT": "äbc-123",
	}
	lookup := func(name string) (string, bool) { value, ok := environ[name]; return value, ok }
	for _, c := range []struct {
		variable string
		token    bool
		want     string
		err      string
	}{
		{"GOOD", true, "abc-123", ""}, {"myToken", true, "abc-123", ""}, {"SPACE", false, "abc 123", ""}, {"UMLAUT", false, "äbc-123", ""},
		{"EMPTY", true, "", `--x names "EMPTY", and that variable is not set, or empty`}, {"no_such", false, "", `names "no_such", and`},
		{"WORD", true, "", "begins with the word Bearer"}, {"WORD", false, "bearer abc-123", ""},
		{"LINES", true, "", "contains a line break"}, {"LINES", false, "", "contains a line break"}, {"SPACE", true, "", "that no token has"}, {"UMLAUT", true, "", "that no token has"},
		{"eyJhbGciOiJub25lIn0.e30.", true, "", "is not shown"}, {"ghp_0123456789abcdef", false, "", "is not shown"},
	} {
		secrets := &redact.Secrets{}
		got, err := (&Credential{"--x", c.variable, c.token}).Read(lookup, secrets)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != c.want || c.err == "" && text != "" || !strings.Contains(text, c.err) {
			t.Errorf("%s: %q, %v", c.variable, got, err)
		}
		if c.err == "is not shown" && (strings.Contains(text, c.variable) || secrets.RedactText(c.variable) == c.variable) {
			t.Errorf("%s is shown: %v", c.variable, err)
		}
	}
}
