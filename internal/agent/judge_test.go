package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

func TestFixedOnlyIfKeptInAllRevisions(t *testing.T) {
	for _, c := range []struct {
		outcomes []verdict.Outcome
		fixed    bool
		verdict  verdict.Outcome
	}{
		{nil, false, verdict.NotObserved},
		{[]verdict.Outcome{verdict.Kept, verdict.Kept}, true, verdict.Kept},
		{[]verdict.Outcome{verdict.Kept, verdict.NotObserved}, false, verdict.NotObserved},
		{[]verdict.Outcome{verdict.NotApplicable, verdict.Kept}, false, verdict.NotApplicable},
		{[]verdict.Outcome{verdict.NotObserved, verdict.Broken, verdict.Kept}, false, verdict.Broken},
		{[]verdict.Outcome{verdict.Flaky, verdict.Warning}, false, verdict.Flaky},
		{[]verdict.Outcome{verdict.Kept, verdict.Blocked, verdict.NotObserved}, false, verdict.Blocked},
	} {
		r := &verdict.Report{Verdicts: []verdict.Verdict{{Requirement: "base.other", Outcome: verdict.HarnessError}}}
		for _, o := range c.outcomes {
			r.Verdicts = append(r.Verdicts, verdict.Verdict{Requirement: "ping.responds", Outcome: o})
		}
		if got := outcomeOf("ping.responds", r, judgement{}); got.Fixed != c.fixed || got.Verdict != c.verdict.String() {
			t.Errorf("%v: fixed is %v and the verdict %q; want %v, %q", c.outcomes, got.Fixed, got.Verdict, c.fixed, c.verdict)
		}
	}
}

// TestFindingsOfOneLine checks that findings that differ only in their revision are listed once for
// each verdict, even if findings with another verdict come between them.
func TestFindingsOfOneLine(t *testing.T) {
	report := &verdict.Report{}
	for i, outcome := range []verdict.Outcome{verdict.Broken, verdict.Warning, verdict.Broken} {
		report.Findings = append(report.Findings, verdict.Finding{
			Requirement: "ping.responds", Judge: "ping.plain", Summary: "s", Revision: spec.HandshakeRevisions()[i], Outcome: outcome,
		})
	}
	got := map[string]int{}
	for _, f := range judgementOf("r", report, 1).Findings {
		got[f.Verdict] = len(f.Revisions)
	}
	if diff := cmp.Diff(map[string]int{"broken": 2, "warning": 1}, got); diff != "" {
		t.Errorf("revisions by verdict (-want +got):\n%s", diff)
	}
}
