package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/baseline"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// An author who fixes a finding wants to see its new verdict first. So each round of --watch except
// the first begins with the findings of the last run, in the newest revision that had them. It does
// not retry them, because the last run already did.

// suspectVerdicts returns the verdicts that the next round judges first: those that are more severe
// than a note, and of several on one requirement only the one in the newest revision. Known
// findings and harness errors do not count.
func suspectVerdicts(r *verdict.Report) []verdict.Verdict {
	var out []verdict.Verdict
	taken := map[string]bool{}
	for _, v := range r.Verdicts { // the newest revision first
		if v.Outcome >= verdict.Warning && v.Outcome != verdict.HarnessError && v.Known == "" && !taken[v.Requirement] {
			taken[v.Requirement] = true
			out = append(out, v)
		}
	}
	return out
}

// labelsOf returns a label filter that selects the requirements of the verdicts, and the cases in
// which their findings were seen, each in its revision. narrow is the user's own filter, which also
// applies unless it is "".
func labelsOf(r *verdict.Report, verdicts []verdict.Verdict, narrow string) string {
	var terms []string
	add := func(judged string, rev spec.Revision) {
		if term := judged + " && " + string(rev); judged != "" && !slices.Contains(terms, term) {
			terms = append(terms, term)
		}
	}
	for _, v := range verdicts {
		add(v.Requirement, v.Revision)
		for i := range r.Findings {
			if f := &r.Findings[i]; f.Place() == v.Place() {
				add(f.Case, f.Revision)
			}
		}
	}
	filter := "(" + strings.Join(terms, ") || (") + ")"
	if narrow != "" {
		filter = "(" + narrow + ") && (" + filter + ")"
	}
	return filter
}

// judgeLastFindings judges the findings of the last run again, and prints a line for each. It
// returns an error only if the server can't be reached. The run that follows reports all other
// errors.
func (w *watched) judgeLastFindings(show changes) error {
	w.shown = nil
	before := suspectVerdicts(w.last)
	if len(before) == 0 {
		return nil
	}
	began := time.Now()
	after, err := w.judgeAgain(before, show)
	show.Clear()
	if unreachable := new(*engine.UnreachableError); errors.As(err, unreachable) {
		return err
	}
	if err != nil || after.Incomplete != "" {
		return nil //nolint:nilerr // the run that follows reports the error
	}
	only := *w.last
	only.Verdicts = before
	w.shown = differenceLines(mergeDifferences(baseline.Diff(&only, after)))
	w.printLines(w.shown)
	w.printf("%s judged again after %.1f s; the rest follows", countWithNoun(len(before), "finding", "findings"), time.Since(began).Seconds())
	return nil
}

// judgeAgain judges the requirements of the verdicts again, and returns a report of these alone.
// Deviations are not retried here, so judgeAgain limits each verdict to the severity that it had
// before.
func (w *watched) judgeAgain(before []verdict.Verdict, show changes) (*verdict.Report, error) {
	f := *w.f
	f.labels, f.revisions = labelsOf(w.last, before, f.labels), nil
	for _, v := range before {
		if rev := string(v.Revision); !slices.Contains(f.revisions, rev) {
			f.revisions = append(f.revisions, rev)
		}
	}
	f.quick, f.transcript, f.known = false, "", knownFlags{}
	s, err := w.a.openRun(&f, show.Waiting)
	defer s.close()
	if err != nil {
		return nil, err
	}
	o := s.options
	o.Unconfirmed, o.Progress = true, redactingScreen{show, w.a}
	ctx, cancel := context.WithTimeout(w.a.ctx, f.max)
	defer cancel()
	after, err := engine.Run(ctx, o)
	if err != nil {
		return nil, err
	}
	after.Redact(w.a.redact)
	was := map[verdict.Place]verdict.Outcome{}
	for _, v := range before {
		was[v.Place()] = v.Outcome
	}
	after.Verdicts = slices.DeleteFunc(after.Verdicts, func(v verdict.Verdict) bool { return was[v.Place()] == verdict.NotApplicable })
	for i := range after.Verdicts {
		v := &after.Verdicts[i]
		v.Outcome = min(v.Outcome, was[v.Place()])
	}
	return after, nil
}
