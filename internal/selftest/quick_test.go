package selftest_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/selftest"
	"github.com/mcp-conform/mcp-conform/internal/skip"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/suites"
)

// TestQuickRunsSayWhatWholeRunsSay compares quick runs with whole runs on the
// reference server, and on one with a fault that only a case shows which a quick
// run leaves out.
func TestQuickRunsSayWhatWholeRunsSay(t *testing.T) {
	skip.Slow(t)
	for _, c := range []struct {
		fault string
		selftest.Place
		least int // requirements that a quick run judges at least
	}{
		{"", selftest.Place{Transport: spec.Stdio, Revision: spec.V20260728}, 100},
		{"", selftest.Place{Transport: spec.Stdio, Revision: spec.V20251125}, 100},
		{"", selftest.Place{Transport: spec.StreamableHTTP, Revision: spec.V20260728}, 100},
		{"", selftest.Place{Transport: spec.StreamableHTTP, Revision: spec.V20251125}, 100},
		{"", selftest.Place{Transport: spec.SSE, Revision: spec.V20241105}, 60},
		{"progress.server-token-unique/constant", selftest.Place{Transport: spec.Stdio, Revision: spec.V20251125}, 100},
	} {
		t.Run(c.fault+" "+string(c.Transport)+" "+string(c.Revision), func(t *testing.T) {
			t.Parallel()
			var fault faults.Fault
			if c.fault != "" {
				var ok bool
				if fault, ok = faults.Lookup(c.fault); !ok {
					t.Fatal("there is no such fault")
				}
			}
			run := func(quick bool) *verdict.Report {
				d, end := selftest.Dialer(t.Context(), fault, c.Transport)
				defer end()
				p, err := engine.Run(t.Context(), engine.Options{Dialer: d, Cases: suites.Cases(), Rules: ruleset.All(), Revisions: []spec.Revision{c.Revision}, Quick: quick})
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
			quick, whole := run(true), run(false)
			for _, line := range suitetest.QuickDifferences(quick, whole) {
				t.Error(line)
			}
			judged, left := 0, 0
			for _, v := range quick.Verdicts {
				if v.Outcome >= verdict.Kept {
					judged++
				}
				if v.LeftOut {
					left++
				}
			}
			if judged < c.least || left == 0 {
				t.Errorf("a quick run judges %d requirements and leaves out %d", judged, left)
			}
			t.Logf("%d judged in %v by %d servers, %d left out; the whole run: %v, %d servers", judged, quick.Stats.Took, quick.Stats.Servers, left, whole.Stats.Took, whole.Stats.Servers)
		})
	}
}
