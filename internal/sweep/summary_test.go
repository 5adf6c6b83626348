package sweep

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestSharedFindings checks which summary represents the findings of several servers, and that it is
// not taken for that of all.
func TestSharedFindings(t *testing.T) {
	t.Parallel()
	find := func(outcome verdict.Outcome, summary string) Finding {
		return Finding{Requirement: "ping.responds", Outcome: outcome, Summary: summary}
	}
	broken := find(verdict.Broken, "It exits.")
	for _, c := range []struct {
		findings []Finding
		alike    int
		want     string
	}{
		{[]Finding{broken}, 1, "It exits."},
		{[]Finding{broken, broken}, 2, "It exits."},
		{[]Finding{broken, find(verdict.Broken, "It hangs."), broken}, 2, "It exits. The finding of 1 other server differs."},
		{[]Finding{find(verdict.Broken, "It hangs."), broken, broken}, 2, "It exits. The finding of 1 other server differs."},
		{[]Finding{find(verdict.Broken, "It hangs."), broken}, 1, "It exits. The finding of 1 other server differs."}, // in the order of the alphabet
		{[]Finding{find(verdict.Warning, "It hangs."), broken, find(verdict.Warning, "It hangs.")}, 1, "It exits. The findings of 2 other servers differ."},
		{[]Finding{find(verdict.Warning, "It exits."), broken}, 1, "It exits. The finding of 1 other server differs."},
		{[]Finding{find(verdict.NotApplicable, "It exits.")}, 1, "It exits."},
	} {
		w := &Sweep{}
		for i, f := range c.findings {
			w.Servers = append(w.Servers, &Result{Name: fmt.Sprint(i), Outcome: Broken, Findings: []Finding{f}})
		}
		w.summarise()
		one := w.Shared[0]
		if len(w.Shared) != 1 || one.Servers != len(c.findings) || one.Alike != c.alike {
			t.Errorf("%v: %+v", c.findings, w.Shared)
		}
		if diff := cmp.Diff(c.want, one.Description()); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.findings, diff)
		}
	}
}
