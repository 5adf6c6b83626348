package baseline

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A Kind says how the verdicts of two reports on one requirement differ.
type Kind string

// The kinds of differences. A requirement deviates if its verdict is a warning or more severe,
// except a harness error. A note counts as kept.
const (
	New       Kind = "new"       // deviates now, and did not deviate before, or deviated less severely
	Fixed     Kind = "fixed"     // deviated before, and is kept now
	Lost      Kind = "lost"      // deviated before, and no verdict says whether it still does
	Unchanged Kind = "unchanged" // deviates as before, or less severely
	Unseen    Kind = "unseen"    // was kept before, and was not observed now: it may no longer be kept
)

// A Difference is a requirement that deviates in one of two reports, or is no
// longer observed, in one revision over one transport.
type Difference struct {
	Kind        Kind
	Requirement string
	Level       spec.Level
	Revision    spec.Revision
	Transport   spec.Transport
	Old, New    verdict.Outcome // NotApplicable if the report has no such verdict
	Summary     string          // of the newer finding if there is one, otherwise of the older; for Unseen, the reason of the newer verdict
}

// Diff compares two reports on the same server. It returns the requirements that deviate in either
// report, and those that were kept and are no longer observed, in the order new, lost, fixed,
// unchanged, unseen, and within a kind in the order of the reports. A verdict that the newer report
// marks as LeftOut is not a difference.
func Diff(older, newer *verdict.Report) []Difference {
	before, after := map[verdict.Place]*verdict.Verdict{}, map[verdict.Place]*verdict.Verdict{}
	var order []verdict.Place
	for _, side := range []struct {
		report *verdict.Report
		into   map[verdict.Place]*verdict.Verdict
	}{{newer, after}, {older, before}} {
		for i := range side.report.Verdicts {
			v := &side.report.Verdicts[i]
			p := v.Place()
			if after[p] == nil && before[p] == nil {
				order = append(order, p)
			}
			side.into[p] = v
		}
	}
	var out []Difference
	for _, p := range order {
		o, n := before[p], after[p]
		if n != nil && n.LeftOut {
			continue
		}
		was, is := o != nil && deviates(o), n != nil && deviates(n)
		unseen := !was && o != nil && n != nil && n.Outcome == verdict.NotObserved && (o.Outcome == verdict.Kept || o.Outcome == verdict.Note)
		if !was && !is && !unseen {
			continue
		}
		d := Difference{Requirement: p.Requirement, Revision: p.Revision, Transport: p.Transport, Kind: Unchanged}
		if o != nil {
			d.Old, d.Level, d.Summary = o.Outcome, o.Level, severestSummary(older, o)
		}
		if n != nil {
			d.New, d.Level = n.Outcome, n.Level
		}
		switch {
		case unseen:
			d.Kind, d.Summary = Unseen, n.Reason
		case is:
			d.Summary = severestSummary(newer, n)
			if !was || d.New > d.Old {
				d.Kind = New
			}
		case n != nil && (n.Outcome == verdict.Kept || n.Outcome == verdict.Note):
			d.Kind = Fixed
		default:
			d.Kind = Lost
		}
		out = append(out, d)
	}
	rank := []Kind{New, Lost, Fixed, Unchanged, Unseen}
	slices.SortStableFunc(out, func(a, b Difference) int { return slices.Index(rank, a.Kind) - slices.Index(rank, b.Kind) })
	return out
}

// severestSummary returns the summary of a verdict's most severe finding, or "" if it has none.
func severestSummary(r *verdict.Report, v *verdict.Verdict) string {
	for i := range r.Findings { // most severe first
		if f := &r.Findings[i]; slices.Contains(v.Findings, f.ID) {
			return f.Summary
		}
	}
	return ""
}
