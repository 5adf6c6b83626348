package baseline

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// head is the comment at the beginning of a baseline file.
const head = `# Known findings of mcp-conform. They are still judged: an entry that no longer
# holds is stale, and a stale entry makes the run fail. Each entry has a
# requirement and a reason. Optional: revision and transport (it holds only there),
# and expires (from this day on the finding counts again).
`

// A Change lists what Update did to the entries of a baseline.
type Change struct{ Added, Kept, Dropped []Entry }

// Accept selects the findings that become known, and gives the reason.
type Accept struct {
	Reason       string
	Requirements []string // only these; empty for all
	Warnings     bool     // also accept warnings, flaky and unconfirmed findings, not only broken ones
}

func (a *Accept) accepts(v *verdict.Verdict) bool {
	return deviates(v) && (a.Warnings || v.Outcome == verdict.Broken) &&
		(len(a.Requirements) == 0 || slices.Contains(a.Requirements, v.Requirement))
}

// Update returns a baseline that covers the accepted findings of a report. Existing entries whose
// findings still occur are kept unchanged, even if they have expired. New entries get the reason in
// accept, and a revision if the finding is not in every judged revision. Entries whose findings no
// longer occur are dropped; an entry stays if the report can't show whether its findings still
// occur. Update also changes the report: the verdicts that the kept entries cover are then known,
// with their findings, and no other verdicts are.
func Update(old *Baseline, r *verdict.Report, accept Accept, now time.Time) (*Baseline, Change) {
	for i := range r.Verdicts {
		r.Verdicts[i].Known = ""
	}
	var change Change
	out := &Baseline{Path: old.Path}
	for i := range old.Entries {
		e := old.Entries[i]
		if e.isGone(r, now) {
			change.Dropped = append(change.Dropped, e)
			continue
		}
		change.Kept = append(change.Kept, e)
		out.Entries = append(out.Entries, e)
	}
	for _, e := range newEntries(r, &accept) {
		e.Reason = accept.Reason
		change.Added = append(change.Added, e)
		out.Entries = append(out.Entries, e)
	}
	slices.SortStableFunc(out.Entries, func(a, b Entry) int {
		return cmp.Or(strings.Compare(a.Requirement, b.Requirement), strings.Compare(string(a.Revision), string(b.Revision)))
	})
	return out, change
}

// isGone reports whether the entry's finding no longer occurs. If it occurs, isGone marks it as
// known, even if the entry has expired, because such an entry stays until the user changes it.
func (e *Entry) isGone(r *verdict.Report, now time.Time) bool {
	lasting := *e
	lasting.Expires = time.Time{}
	return lasting.apply(r, now, false) != ""
}

// HasGone reports whether Update would drop an entry of the baseline. It does not change the report.
func (b *Baseline) HasGone(r *verdict.Report, now time.Time) bool {
	own := *r
	own.Verdicts, own.Findings = slices.Clone(r.Verdicts), slices.Clone(r.Findings)
	return slices.ContainsFunc(b.Entries, func(e Entry) bool { return e.isGone(&own, now) })
}

// RequirementPerCause returns one requirement for each cause of the entries' findings, so that no
// two of the results have the same cause. Findings of one group have the same cause, as do findings
// of one requirement that are in no group.
func RequirementPerCause(r *verdict.Report, entries []Entry) []string {
	var out, causes []string
	for _, e := range entries {
		cause := e.Requirement
		for i := range r.Findings {
			if f := &r.Findings[i]; f.Requirement == e.Requirement && f.Group != "" {
				cause = f.Group
				break
			}
		}
		if !slices.Contains(causes, cause) {
			causes, out = append(causes, cause), append(out, e.Requirement)
		}
	}
	return out
}

// newEntries returns new entries for the findings that accept selects and that are not known yet. A
// requirement gets one entry for all revisions if it has such a finding in every revision in which
// it was judged. Otherwise it gets one entry for each revision with such a finding.
func newEntries(r *verdict.Report, accept *Accept) []Entry {
	var ids []string
	revisions, judged := map[string][]spec.Revision{}, map[string]int{}
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		if v.Outcome >= verdict.Kept && v.Outcome != verdict.Blocked {
			judged[v.Requirement]++
		}
		if !accept.accepts(v) || v.Known != "" {
			continue
		}
		if revisions[v.Requirement] == nil {
			ids = append(ids, v.Requirement)
		}
		revisions[v.Requirement] = append(revisions[v.Requirement], v.Revision)
	}
	slices.Sort(ids)
	var out []Entry
	for _, id := range ids {
		if len(revisions[id]) == judged[id] {
			out = append(out, Entry{Requirement: id})
			continue
		}
		for _, rev := range revisions[id] {
			out = append(out, Entry{Requirement: id, Revision: rev})
		}
	}
	return out
}

// deviates reports whether the verdict is one that a baseline can cover: from a warning to broken.
func deviates(v *verdict.Verdict) bool {
	return v.Outcome >= verdict.Warning && v.Outcome <= verdict.Broken
}

// Write writes the baseline in the format that Read reads.
func (b *Baseline) Write(w io.Writer) error {
	type entry struct {
		Requirement string `yaml:"requirement"`
		Revision    string `yaml:"revision,omitempty"`
		Transport   string `yaml:"transport,omitempty"`
		Reason      string `yaml:"reason"`
		Expires     string `yaml:"expires,omitempty"`
	}
	known := make([]entry, 0, len(b.Entries))
	for _, e := range b.Entries {
		written := entry{Requirement: e.Requirement, Revision: string(e.Revision), Transport: string(e.Transport), Reason: e.Reason}
		if !e.Expires.IsZero() {
			written.Expires = e.Expires.Format(time.DateOnly)
		}
		known = append(known, written)
	}
	text, err := yaml.Marshal(map[string]any{"known": known})
	if err != nil {
		return fmt.Errorf("the baseline can't be written: %w", err)
	}
	if _, err := io.WriteString(w, head+string(text)); err != nil {
		return fmt.Errorf("the baseline can't be written: %w", err)
	}
	return nil
}
