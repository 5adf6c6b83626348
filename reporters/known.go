package reporters

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// knownDeviation is a requirement with its known deviations. They are in the baseline, or they are
// SDK findings.
type knownDeviation struct {
	requirement, reason string
	sdk                 bool            // accepted as an SDK finding
	outcome             verdict.Outcome // the most severe outcome
	revisions           []spec.Revision
}

// knownDeviations returns the known deviations that the run saw again, in the order of the report.
// Those that are flaky or unconfirmed come last.
func knownDeviations(r *verdict.Report) []knownDeviation {
	var out []knownDeviation
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		if v.Known == "" {
			continue
		}
		at := slices.IndexFunc(out, func(k knownDeviation) bool {
			return k.requirement == v.Requirement && k.reason == v.Known && isDoubtful(k.outcome) == isDoubtful(v.Outcome)
		})
		if at < 0 {
			at = len(out)
			out = append(out, knownDeviation{requirement: v.Requirement, reason: v.Known, sdk: v.AcceptedSDK})
		}
		out[at].outcome = max(out[at].outcome, v.Outcome)
		out[at].revisions = append(out[at].revisions, v.Revision)
	}
	slices.SortStableFunc(out, func(a, b knownDeviation) int {
		return doubtRank(a.outcome) - doubtRank(b.outcome)
	})
	return out
}

func doubtRank(o verdict.Outcome) int {
	if isDoubtful(o) {
		return 1
	}
	return 0
}

// staleEntry describes an outdated baseline entry: its file and line, what it is about, and why it
// is outdated.
func staleEntry(r *verdict.Report, s *verdict.StaleEntry) string {
	where := []string{s.Requirement}
	if s.Revision != "" {
		where = append(where, string(s.Revision))
	}
	if s.Transport != "" {
		where = append(where, string(s.Transport))
	}
	return fmt.Sprintf("%s:%d  %s: %s", r.Baseline, s.Line, strings.Join(where, " · "), s.Why)
}

// baselineLines lists the known deviations and the outdated baseline entries,
// one line each.
func (c *Console) baselineLines(r *verdict.Report) []string {
	var out []string
	for _, k := range knownDeviations(r) {
		line := clip(fmt.Sprintf("· KNOWN  %s  %s · %s: %s", k.requirement, k.outcome, joinRevisions(k.revisions), k.reason), 2*c.o.Width)
		out = append(out, WrapLine(line, c.foldWidth(), 2)...)
	}
	for i := range r.Stale {
		out = append(out, c.paint(red, "✗ STALE")+"  "+clip(staleEntry(r, &r.Stale[i]), 3*c.o.Width))
	}
	if len(r.Stale) > 0 {
		out = append(out, "  "+staleAdvice)
	}
	return out
}

// staleAdvice is the advice for an outdated baseline entry. A notice has the command that removes
// the entries whose findings no longer occur.
const staleAdvice = "correct or remove each stale entry"

func describeStaleCount(n int) string {
	if n == 1 {
		return "1 entry of the baseline is stale"
	}
	return fmt.Sprintf("%d entries of the baseline are stale", n)
}
