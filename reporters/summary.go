package reporters

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// columns of the verdict lines; those that are not always shown stand only
// where a revision has such a verdict.
var tallied = []struct {
	outcome verdict.Outcome
	label   string
	always  bool
}{
	{verdict.Kept, "kept", true},
	{verdict.Note, "notes", false},
	{verdict.Warning, "warnings", true},
	{verdict.Flaky, "flaky", false},
	{verdict.Broken, "broken", true},
	{verdict.HarnessError, "harness errors", false},
	{verdict.Blocked, "blocked", false},
	{verdict.NotObserved, "not observed", true},
	{verdict.NotApplicable, "not applicable", true},
}

// tally returns a line of counts for each revision judged, a line for each
// that the server does not speak, and what no check judges yet.
func tally(r *verdict.Report, columns int) []string {
	rows := make([][]string, len(r.Revisions))
	for _, col := range tallied {
		counts, digits, any := make([]int, len(r.Revisions)), 0, false
		for i, rev := range r.Revisions {
			counts[i] = r.Count(rev, col.outcome)
			digits = max(digits, len(fmt.Sprint(counts[i])))
			any = any || counts[i] > 0
		}
		if !any && !col.always {
			continue
		}
		for i := range rows {
			rows[i] = append(rows[i], fmt.Sprintf("%s %*d", col.label, digits, counts[i]))
		}
	}
	var out []string
	for i, rev := range r.Revisions {
		out = append(out, Visible(string(rev))+"  "+strings.Join(rows[i], " · "))
	}
	for _, n := range r.NotSpoken {
		out = append(out, clip(string(n.Revision)+"  not judged: "+n.Reason, columns))
	}
	if r.NotJudged > 0 {
		out = append(out, fmt.Sprintf("not judged yet: %s that no check covers", count(r.NotJudged, "testable requirement")))
	}
	return out
}

// judged names what the report is about: the server by its own name, or the
// target where it gave none.
func judged(r *verdict.Report) string {
	if r.Server.Name == "" {
		return clip(r.Target, 80)
	}
	return clip(strings.TrimSpace(r.Server.Name+" "+r.Server.Version), 80)
}

// conclusion says in plain words what the run amounts to.
func conclusion(r *verdict.Report) (string, color) {
	broken, failed := requirements(r, verdict.Broken), requirements(r, verdict.HarnessError)
	revisions := "in " + joinRevisions(r.Revisions)
	if len(r.Revisions) > 1 {
		revisions = "in " + count(len(r.Revisions), "revision")
	}
	text, paint := "", red
	switch _, any := r.Worst(); {
	case !any:
		text = ": nothing could be judged"
	case broken > 0:
		text = " breaks " + count(broken, "requirement")
		if failed > 0 {
			text += fmt.Sprintf("; the harness failed on %d more", failed)
		}
	case failed > 0:
		text = ": no verdict, the harness failed on " + count(failed, "requirement")
	case r.Incomplete != "":
		text, paint = ": no requirement broken as far as the run came", yellow
	default:
		text, paint = " keeps the protocol: no requirement broken "+revisions, green
	}
	for _, also := range []struct {
		outcome verdict.Outcome
		label   string
	}{{verdict.Warning, "with a warning"}, {verdict.Flaky, "flaky"}} {
		if n := requirements(r, also.outcome); n > 0 {
			text += fmt.Sprintf(", %d %s", n, also.label)
		}
	}
	if r.Incomplete != "" {
		text += " (the run ended early: " + clip(r.Incomplete, 200) + ")"
	}
	return cmp.Or(judged(r), "the server") + text, paint
}

// requirements counts those that have outcome o in any revision.
func requirements(r *verdict.Report, o verdict.Outcome) int {
	ids := map[string]bool{}
	for i := range r.Verdicts {
		if r.Verdicts[i].Outcome == o {
			ids[r.Verdicts[i].Requirement] = true
		}
	}
	return len(ids)
}

func effort(s *verdict.Stats) string {
	took := fmt.Sprintf("%.1f s", s.Took.Seconds())
	if s.Took >= time.Minute {
		took = s.Took.Round(time.Second).String()
	}
	return fmt.Sprintf("%s · %s started · %s", took, count(s.Servers, "server"), count(s.Messages, "message"))
}
