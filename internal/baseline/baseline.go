// Package baseline handles known findings, which do not fail a run and each have a
// reason, and compares two reports. Known findings are still judged, so that a
// stale entry is noticed.
package baseline

import (
	"fmt"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// An Entry is one known finding.
type Entry struct {
	Requirement string         // id in the catalogue
	Revision    spec.Revision  // "" for every revision
	Transport   spec.Transport // "" for every transport
	Reason      string         // why the finding is accepted, as written in the file
	Expires     time.Time      // the day from which the finding fails a run again, at midnight UTC; zero for never
	Line        int            // line in the file, from 1
}

// A Baseline is a file of known findings.
type Baseline struct {
	Path    string
	Entries []Entry
}

// Apply marks the verdicts and findings of the report that have an entry as known, and adds the
// stale entries to the report. whole means that no flag limited what the run judged. An entry for
// another transport is never stale. Any other entry is stale
//   - if it has expired, and either the report has a verdict on its requirement or whole is true,
//   - if the run is complete, and the requirement is kept in some revision and deviates in none,
//   - if the run is complete, and the requirement does not apply to the server in any revision,
//   - if the run is complete, whole is true, and the report has no verdict on the requirement.
//
// If the entry names a revision, only the verdicts in that revision count.
func (b *Baseline) Apply(r *verdict.Report, now time.Time, whole bool) {
	r.Baseline = b.Path
	for i := range b.Entries {
		e := &b.Entries[i]
		why := e.apply(r, now, whole)
		if why != "" {
			r.Stale = append(r.Stale, verdict.StaleEntry{Requirement: e.Requirement, Revision: e.Revision, Transport: e.Transport, Line: e.Line, Why: why})
		}
	}
}

// apply marks the entry's verdicts and findings as known, unless the entry has expired. It returns
// why the entry is stale, or "" if the entry is not stale or this run can't decide that.
func (e *Entry) apply(r *verdict.Report, now time.Time, whole bool) string {
	if e.Transport != "" && e.Transport != r.Transport {
		return "" // a run over that transport judges it
	}
	var of []*verdict.Verdict
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; v.Requirement == e.Requirement && (e.Revision == "" || e.Revision == v.Revision) {
			of = append(of, v)
		}
	}
	if !e.Expires.IsZero() && !now.Before(e.Expires) {
		if len(of) == 0 && !whole {
			return ""
		}
		return "it expired on " + e.Expires.Format(time.DateOnly)
	}
	occurs, kept, unclear := false, false, r.Incomplete != ""
	for _, v := range of {
		switch v.Outcome {
		case verdict.Broken, verdict.Unconfirmed, verdict.Flaky, verdict.Warning:
			occurs = true
			e.markKnown(r, v)
		case verdict.Kept, verdict.Note:
			kept = true
		case verdict.NotObserved, verdict.Blocked, verdict.HarnessError:
			unclear = true
		case verdict.NotApplicable:
		}
	}
	switch {
	case occurs, unclear && !kept:
		return ""
	case kept && r.Incomplete == "":
		return "it does not occur any more: the requirement is kept"
	case len(of) > 0 && r.Incomplete == "":
		return "it matches nothing: the requirement does not apply to this server"
	case whole && r.Incomplete == "":
		return e.whyUnmatched(r)
	default:
		return ""
	}
}

// whyUnmatched returns the reason why an unfiltered run has no verdict that
// matches the entry.
func (e *Entry) whyUnmatched(r *verdict.Report) string {
	for _, rev := range r.Revisions {
		if e.Revision == "" || e.Revision == rev {
			return fmt.Sprintf("it matches nothing: the requirement is not judged over %s in the revisions of this run", r.Transport)
		}
	}
	return "it matches nothing: the server does not speak " + string(e.Revision)
}

// markKnown records on a verdict and its findings why they are known.
func (e *Entry) markKnown(r *verdict.Report, v *verdict.Verdict) {
	v.Known = e.Reason
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Place() == v.Place() {
			f.Known = e.Reason
		}
	}
}
