package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
)

// TestWhatIsNoLongerObservedStandsApart checks that diff lists separately what
// is no longer observed, and that this does not fail.
func TestWhatIsNoLongerObservedStandsApart(t *testing.T) {
	dir := t.TempDir()
	said := func(name string, outcomes map[string]verdict.Outcome) string {
		r := &verdict.Report{Tool: "mcp-conform", Transport: spec.Stdio}
		for _, id := range []string{"base.response-id-echo", "base.response-once", "ping.empty-result", "tools.list.answered"} {
			for _, rev := range []spec.Revision{spec.V20250618, spec.V20251125} {
				v := verdict.Verdict{Requirement: id, Revision: rev, Transport: spec.Stdio, Outcome: outcomes[id]}
				if v.Outcome == verdict.NotObserved {
					v.Reason = "it was not observed\x1b"
				}
				r.Verdicts = append(r.Verdicts, v)
			}
		}
		path := filepath.Join(dir, name)
		var b bytes.Buffer
		if err := reporters.JSON(&b, r); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	older := said("old.json", map[string]verdict.Outcome{"base.response-id-echo": verdict.Warning, "base.response-once": verdict.Broken, "ping.empty-result": verdict.Kept, "tools.list.answered": verdict.Kept})
	newer := said("new.json", map[string]verdict.Outcome{"base.response-id-echo": verdict.NotObserved, "base.response-once": verdict.Kept, "ping.empty-result": verdict.NotObserved, "tools.list.answered": verdict.Kept})
	var out bytes.Buffer
	if code := invoke([]string{"diff", "--fail-on", "should", older, newer}, World{Out: &out, Err: &out}); code != ExitKept {
		t.Errorf("the exit code is %d", code)
	}
	defer func() {
		out.Reset()
		invoke([]string{"diff", older, newer}, World{Out: &out, Err: &out, Columns: 60})
		want := "\nFIXED      base.response-once  kept, was broken ·\n    2025-11-25, 2025-06-18:"
		if !strings.Contains(out.String(), want) {
			t.Errorf("on a narrow screen it shows:\n%s", out.String())
		}
	}()
	want := `LOST       base.response-id-echo  no longer observed, was warning · 2025-11-25, 2025-06-18: 
FIXED      base.response-once  kept, was broken · 2025-11-25, 2025-06-18: 
no longer observed, kept before:
  ping.empty-result  2025-11-25, 2025-06-18: it was not observed\u001b
0 new, 1 fixed, 0 unchanged, 2 no longer observed
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}
