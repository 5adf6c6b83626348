package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/redact"
)

// TestQuoteStderr checks which lines of a server's stderr are printed, and which one is kept for the
// sweep that started the run.
func TestQuoteStderr(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ output, printed, kept string }{
		"a cause":     {"starting\n\nError: Cannot find module 'server.js'\ncode: REDACTED-7\n", "says:\n    | Error: Cannot find module 'server.js'\n    | code: REDACTED\n", "says: Error: Cannot find module 'server.js'"},
		"last lines":  {"usage: x\n no key \x1b[0m \n \n", "ends with:\n    | usage: x\n    |  no key \\u001b[0m \n    |  \n", "ends with: no key \\u001b[0m"},
		"blank lines": {" \n", "ends with:\n    |  \n", ""},
		"no lines":    {"", "ends with:\n", ""},
	} {
		var out bytes.Buffer
		a := &app{World: World{Err: &out}, secrets: redact.New("REDACTED-7")}
		a.quoteStderr(c.output)
		if got := strings.TrimPrefix(out.String(), "  the server's stderr "); got != c.printed {
			t.Errorf("%s: printed %q, not %q", name, got, c.printed)
		}
		if got := strings.TrimPrefix(a.quote, "the server's stderr "); got != c.kept {
			t.Errorf("%s: kept %q, not %q", name, got, c.kept)
		}
	}
}
