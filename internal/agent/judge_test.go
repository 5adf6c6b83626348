package agent

import (
	"testing"

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
