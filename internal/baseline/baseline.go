// Package baseline holds what is known of a server already: findings that are
// not to fail a run again, each with the reason why it stands, and what has
// changed between two reports. What is known is judged all the same, so that an
// entry which has become untrue is found.
package baseline

import (
	"fmt"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Entry is one known finding.
type Entry struct {
	Requirement string         // id in the catalogue
	Revision    spec.Revision  // "" for every revision
	Transport   spec.Transport // "" for every transport
	Reason      string         // why it stands, in the words of whoever wrote the entry
	Expires     time.Time      // the day from which on it counts again, at midnight UTC; zero for never
	Line        int            // in the file, from 1
}

// Baseline is a file of known findings.
type Baseline struct {
	Path    string
	Entries []Entry
}

// Apply marks the verdicts and findings of the report that are known, and lists
// the entries that are stale: expired, or of something that does not occur any
// more, or that there is not. whole tells that the run was of everything; what
// a filter has left out makes no entry stale.
func (b *Baseline) Apply(r *verdict.Report, now time.Time, whole bool) {
	r.Baseline = b.Path
	for i := range b.Entries {
		e := &b.Entries[i]
		why := e.apply(r, now, whole)
		if why != "" {
			r.Stale = append(r.Stale, verdict.Stale{Requirement: e.Requirement, Revision: e.Revision, Transport: e.Transport, Line: e.Line, Why: why})
		}
	}
}

// apply marks what the entry is about, and returns why the entry is stale, ""
// where it is not, or where the run can't tell.
func (e *Entry) apply(r *verdict.Report, now time.Time, whole bool) string {
	if e.Transport != "" && e.Transport != r.Transport {
		return "" // another run judges that
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
			e.mark(r, v)
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
		return e.unmatched(r)
	default:
		return ""
	}
}

// unmatched says why a whole run has no verdict of which the entry speaks.
func (e *Entry) unmatched(r *verdict.Report) string {
	for _, rev := range r.Revisions {
		if e.Revision == "" || e.Revision == rev {
			return fmt.Sprintf("it matches nothing: the requirement is not judged over %s in the revisions of this run", r.Transport)
		}
	}
	return "it matches nothing: the server does not speak " + string(e.Revision)
}

// mark records on a verdict and its findings why they are known.
func (e *Entry) mark(r *verdict.Report, v *verdict.Verdict) {
	v.Known = e.Reason
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Place() == v.Place() {
			f.Known = e.Reason
		}
	}
}
