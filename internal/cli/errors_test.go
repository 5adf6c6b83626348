package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/redact"
)

// TestJoinedErrors checks that several usage errors are printed one by one, each with its own
// advice, and that a report names all of them.
func TestJoinedErrors(t *testing.T) {
	t.Parallel()
	err := errors.Join(usagef("do this", "a is wrong"), usagef("", "b is wrong"), usagef("do this", "c is wrong"))
	var out strings.Builder
	a := &app{World: World{Err: &out}, secrets: redact.New()}
	if code := a.fail(err); code != ExitUsage {
		t.Errorf("the exit code is %d", code)
	}
	want := "mcp-conform: a is wrong\n  do this\nmcp-conform: b is wrong\nmcp-conform: c is wrong\n  do this\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
	if text, advice, stderr := errorParts(err); text != "a is wrong; b is wrong; c is wrong" || advice != "do this" || stderr != "" {
		t.Errorf("%q, %q, %q", text, advice, stderr)
	}
}
