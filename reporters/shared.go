package reporters

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// statementOf returns the statement of a requirement in the catalogue, or "".
func statementOf(id string) string {
	if q := spec.Requirements().Lookup(id); q != nil {
		return strings.TrimSpace(q.Statement)
	}
	return ""
}

// usualFix returns how to fix a finding: its own fix, or else the usual fix of its requirement. It
// returns "" if none is known. It also returns "" for a note, for a harness error, and for an SDK
// finding, which the server's author can't fix.
func usualFix(f *verdict.Finding) string {
	q := spec.Requirements().Lookup(f.Requirement)
	if q == nil || f.SDK != nil || f.Outcome <= verdict.Note || f.Outcome == verdict.HarnessError {
		return ""
	}
	return cmp.Or(f.Fix, q.Fix)
}

// overallResult is the overall result of a report, for a title or a symbol.
type overallResult int

const (
	overallKept overallResult = iota
	overallDoubt
	overallBroken
	overallNothing // no verdict
)

func overallOf(r *verdict.Report) overallResult {
	worst, any := r.Worst()
	switch {
	case !any:
		return overallNothing
	case countRequirements(r, verdict.Broken, verdict.HarnessError) > 0, len(r.Stale) > 0:
		return overallBroken
	case r.FailOn == FailOnShould && countRequirements(r, verdict.Warning) > 0:
		return overallBroken
	case r.Incomplete != "", isDoubtful(worst):
		return overallDoubt
	}
	return overallKept
}

// areasByRequirement returns the area of each requirement.
func areasByRequirement(r *verdict.Report) map[string]string {
	out := map[string]string{}
	for i := range r.Verdicts {
		out[r.Verdicts[i].Requirement] = r.Verdicts[i].Area
	}
	return out
}

// eventsAround returns the evidence and the context of a finding in the order of their
// conversation, and the number of omitted events. It returns at most the given number of events,
// and prefers evidence to context.
func eventsAround(f *verdict.Finding, most int) (events []verdict.Evidence, left int) {
	events = slices.Clone(f.Evidence[:min(len(f.Evidence), most)])
	if first := slices.IndexFunc(f.Evidence, func(e verdict.Evidence) bool { return e.Offending }); first >= most {
		events[most-1] = f.Evidence[first]
	}
	events = append(events, f.Context[:min(len(f.Context), most-len(events))]...)
	slices.SortStableFunc(events, func(a, b verdict.Evidence) int { return cmp.Compare(a.Position, b.Position) })
	return events, len(f.Evidence) + len(f.Context) - len(events)
}

// splitAtMark splits the text of an event at the offending part. It uses at most the first limit
// bytes of the text; the caller must show that the rest is omitted.
func splitAtMark(e *verdict.Evidence, limit int) (before, offends, after string) {
	text := head(e.Text, limit)
	if m := e.Mark; m != nil && m.From >= 0 && m.From < m.To && m.From < len(text) {
		to := min(m.To, len(text))
		return text[:m.From], text[m.From:to], text[to:]
	}
	return text, "", ""
}

// describeCut returns a phrase such as "300 of 9000 bytes" if only the first bytes of an event's
// text are shown, or "" if all of them are. shown is the number of bytes that are shown.
func describeCut(e *verdict.Evidence, shown int) string {
	size := max(e.Size, int64(len(e.Text))+e.Skipped)
	if size <= int64(shown) {
		return ""
	}
	return fmt.Sprintf("%d of %d bytes", shown, size)
}

func findingsByID(r *verdict.Report) map[string]*verdict.Finding {
	out := map[string]*verdict.Finding{}
	for i := range r.Findings {
		out[r.Findings[i].ID] = &r.Findings[i]
	}
	return out
}

// findingsOf returns the findings that a verdict names.
func findingsOf(v *verdict.Verdict, all map[string]*verdict.Finding) []*verdict.Finding {
	var out []*verdict.Finding
	for _, id := range v.Findings {
		if f := all[id]; f != nil {
			out = append(out, f)
		}
	}
	return out
}
