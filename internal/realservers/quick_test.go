package realservers

import (
	"slices"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/skip"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// judgeQuickly compares a quick run in the newest revision with the whole run
// that p reports. It retries no finding, because the whole run did. By day, the self-test alone
// compares the two.
func (s server) judgeQuickly(t *testing.T, d transport.Dialer, p *verdict.Report) {
	t.Helper()
	if !skip.IsNightly() {
		return
	}
	newest := slices.Max(p.Revisions)
	quick, err := s.judge(t, d, measure(), func(o *engine.Options) {
		o.Quick, o.Unconfirmed = true, true
		if s.revisions != nil {
			o.Revisions = []spec.Revision{newest}
		}
	})
	if err != nil {
		t.Fatalf("a quick run: %v", err)
	}
	if !slices.Equal(quick.Revisions, []spec.Revision{newest}) {
		t.Errorf("a quick run judges %v, not %s", quick.Revisions, newest)
	}
	flaky := func(v verdict.Verdict) bool { return raced(v.Requirement) || v.Outcome == verdict.Flaky }
	quick.Verdicts = slices.DeleteFunc(quick.Verdicts, func(v verdict.Verdict) bool {
		return slices.ContainsFunc(p.Verdicts, func(w verdict.Verdict) bool { return w.Place() == v.Place() && flaky(w) })
	})
	for _, line := range suitetest.QuickDifferences(quick, p) {
		t.Error(line)
	}
	t.Logf("a quick run takes %v and %d servers, the whole run %v and %d", quick.Stats.Took, quick.Stats.Servers, p.Stats.Took, p.Stats.Servers)
}
