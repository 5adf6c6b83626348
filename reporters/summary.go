package reporters

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A tallyColumn is a column of the verdict lines.
type tallyColumn struct {
	outcome verdict.Outcome
	label   string
	always  bool // show the column even if no revision has such a verdict
	known   bool // count the verdicts that the baseline or the accepted SDK findings explain, not the others
}

var tallyColumns = []tallyColumn{
	{outcome: verdict.Kept, label: "kept", always: true},
	{outcome: verdict.Note, label: "notes"},
	{outcome: verdict.Warning, label: "warnings", always: true},
	{outcome: verdict.Flaky, label: "flaky"},
	{outcome: verdict.Unconfirmed, label: "unconfirmed"},
	{outcome: verdict.Broken, label: "broken", always: true},
	{label: "known", known: true},
	{outcome: verdict.HarnessError, label: "harness errors"},
	{outcome: verdict.Blocked, label: "blocked"},
	{outcome: verdict.NotObserved, label: "not observed", always: true},
	{outcome: verdict.NotApplicable, label: "not applicable", always: true},
}

// count returns how many verdicts of a revision belong in the column.
func (c *tallyColumn) count(r *verdict.Report, rev spec.Revision) int {
	n := 0
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		if v.Revision == rev && (v.Known != "") == c.known && (c.known || v.Outcome == c.outcome) {
			n++
		}
	}
	return n
}

// columnsOf returns the columns that the report has.
func columnsOf(r *verdict.Report) []tallyColumn {
	var out []tallyColumn
	for _, col := range tallyColumns {
		if col.always || slices.ContainsFunc(r.Revisions, func(rev spec.Revision) bool { return col.count(r, rev) > 0 }) {
			out = append(out, col)
		}
	}
	return out
}

// tallyLines returns a line of counts for each judged revision, and then the revisions that the
// server does not speak: those with the same reason together, in wrapped lines.
func tallyLines(r *verdict.Report, columns int) []string {
	rows := make([][]string, len(r.Revisions))
	for _, col := range columnsOf(r) {
		counts, digits := make([]int, len(r.Revisions)), 0
		for i, rev := range r.Revisions {
			counts[i] = col.count(r, rev)
			digits = max(digits, len(fmt.Sprint(counts[i])))
		}
		for i := range rows {
			rows[i] = append(rows[i], fmt.Sprintf("%s %*d", col.label, digits, counts[i]))
		}
	}
	var out []string
	for i, rev := range r.Revisions {
		out = append(out, Visible(string(rev))+"  "+strings.Join(rows[i], " · "))
	}
	for _, n := range notSpokenByReason(r) {
		for i, line := range wrap(n.revisions+"  not judged: "+n.reason, columns-2, 3) {
			out = append(out, strings.Repeat(" ", 2*min(i, 1))+line)
		}
	}
	return out
}

// notSpoken holds the revisions that the server does not speak for the same reason.
type notSpoken struct{ revisions, reason string }

// notSpokenByReason returns the revisions that the server does not speak, with those of the same
// reason together.
func notSpokenByReason(r *verdict.Report) []notSpoken {
	var out []notSpoken
	for _, n := range r.NotSpoken {
		if i := slices.IndexFunc(out, func(o notSpoken) bool { return o.reason == n.Reason }); i >= 0 {
			out[i].revisions += ", " + string(n.Revision)
		} else {
			out = append(out, notSpoken{string(n.Revision), n.Reason})
		}
	}
	return out
}

// serverName returns the name and the version that the server gave itself, or the target if it gave
// no name.
func serverName(r *verdict.Report) string {
	if r.Server.Name == "" {
		return clip(r.Target, 80)
	}
	return clip(strings.TrimSpace(r.Server.Name+" "+r.Server.Version), 80)
}

// isRecording reports whether the report is about a recording: it is complete and has a transport,
// but counts no servers and no cases.
func isRecording(r *verdict.Report) bool {
	return r.Transport != "" && r.Stats.Servers == 0 && r.Stats.Cases == 0 && r.Incomplete == ""
}

// isBrokenBySDK reports whether all findings that fail a run as broken are known behaviour of the
// server's SDK.
func isBrokenBySDK(r *verdict.Report) bool {
	bySDK := false
	for i := range r.Findings {
		switch f := &r.Findings[i]; {
		case f.Outcome != verdict.Broken || f.Known != "":
		case f.SDK == nil:
			return false
		default:
			bySDK = true
		}
	}
	return bySDK
}

// conclusion returns a sentence on what the run shows, which claims no more than was judged.
func conclusion(r *verdict.Report) (string, color) {
	subject := cmp.Or(serverName(r), "the server")
	if isRecording(r) {
		subject = "judged " + countWithNoun(r.Stats.Messages, "message") + " of a recording"
	}
	broken, failed := countRequirements(r, verdict.Broken), countRequirements(r, verdict.HarnessError)
	flaky, unconfirmed := countRequirements(r, verdict.Flaky), countRequirements(r, verdict.Unconfirmed)
	text, paint := "", red
	switch _, any := r.Worst(); {
	case !any:
		text = ": nothing could be judged"
	case broken > 0:
		text = ": " + countWithNoun(broken, "requirement") + " broken " + judgedExtent(r)
		if isBrokenBySDK(r) {
			text += ", because of its SDK (see --accept-sdk-findings)"
		}
		if failed > 0 {
			text += fmt.Sprintf("; mcp-conform itself failed on %d more", failed)
		}
	case failed > 0:
		text = ": no verdict, mcp-conform itself failed on " + countWithNoun(failed, "requirement")
	case r.Incomplete != "":
		text, paint = ": no requirement broken as far as the run came", yellow
	default:
		text, paint = ": no requirement broken "+limitingPhrase(r)+judgedExtent(r), green
		if flaky+unconfirmed > 0 {
			paint = yellow
		}
	}
	if n := countRequirements(r, verdict.Warning); n > 0 {
		text += fmt.Sprintf(", %d with a warning", n)
	}
	if flaky > 0 {
		text += fmt.Sprintf(", %d flaky", flaky)
	}
	if unconfirmed > 0 {
		text += fmt.Sprintf(", %d unconfirmed", unconfirmed)
	}
	baseline, sdk := knownCounts(r)
	if baseline > 0 {
		text += ", " + countWithNoun(baseline, "known finding")
	}
	if sdk > 0 {
		text += ", " + countWithNoun(sdk, "finding") + " of " + clip(r.SDK, 80) + " accepted"
	}
	if n := len(r.Stale); n > 0 {
		text, paint = text+", "+describeStaleCount(n), red
	}
	if r.Incomplete != "" {
		text += " (the run is incomplete: " + clip(r.Incomplete, 200) + ")"
	}
	return subject + text, paint
}

// limitingPhrase returns a phrase such as "beyond the baseline " for the conclusion of a run in
// which a known finding is broken, or "" for any other run.
func limitingPhrase(r *verdict.Report) string {
	var out []string
	for _, k := range knownDeviations(r) {
		what := "the baseline"
		if k.sdk {
			what = "the SDK"
		}
		if k.outcome == verdict.Broken && !slices.Contains(out, what) {
			out = append(out, what)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "beyond " + strings.Join(out, " and ") + " "
}

// knownCounts counts the known deviations that are in the baseline, and those that are accepted SDK
// findings.
func knownCounts(r *verdict.Report) (baseline, sdk int) {
	for _, k := range knownDeviations(r) {
		if k.sdk {
			sdk++
		} else {
			baseline++
		}
	}
	return baseline, sdk
}

// judgedExtent returns a phrase with the revisions and the number of requirements that were judged,
// and says whether filters selected them.
func judgedExtent(r *verdict.Report) string {
	in := joinRevisions(r.Revisions)
	if len(r.Revisions) > 1 {
		in = countWithNoun(len(r.Revisions), "revision")
	}
	n := requirementsWhere(r, func(v *verdict.Verdict) bool { return v.Outcome >= verdict.Kept && v.Outcome != verdict.Blocked })
	if r.Narrowed {
		return fmt.Sprintf("in %s (%d judged, as selected)", in, n)
	}
	return fmt.Sprintf("in %s (%d judged)", in, n)
}

// countRequirements counts the requirements that have one of the outcomes in any
// revision and are not known deviations.
func countRequirements(r *verdict.Report, outcomes ...verdict.Outcome) int {
	return requirementsWhere(r, func(v *verdict.Verdict) bool { return slices.Contains(outcomes, v.Outcome) && v.Known == "" })
}

// requirementsWhere counts the requirements with at least one verdict for which meant returns true.
func requirementsWhere(r *verdict.Report, meant func(*verdict.Verdict) bool) int {
	ids := map[string]bool{}
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; meant(v) {
			ids[v.Requirement] = true
		}
	}
	return len(ids)
}

// describeEffort returns the duration of the run, and the number of servers or sessions,
// requests and messages.
func describeEffort(r *verdict.Report) string {
	s := &r.Stats
	took := fmt.Sprintf("%.1f s", s.Took.Seconds())
	if s.Took >= time.Minute {
		took = s.Took.Round(time.Second).String()
	}
	if isRecording(r) {
		return took // the rest of the line already counts its messages
	}
	servers := countWithNoun(s.Servers, "server") + " started"
	if r.Transport != spec.Stdio {
		servers = countWithNoun(s.Sessions, "session") // one server that was already running
	}
	return fmt.Sprintf("%s · %s · %s · %s", took, servers, countWithNoun(s.Requests, "request"), countWithNoun(s.Messages, "message"))
}
