package verdict

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// A Place is the subject of one verdict: a requirement in a revision over a transport. Baselines,
// and comparisons of two reports, refer to places rather than findings, because with a new version
// of mcp-conform or of the server, the same mistake may have another summary.
type Place struct {
	Requirement string
	Revision    spec.Revision
	Transport   spec.Transport
}

// A Key identifies a finding: deviations with equal keys are the same finding,
// within a report and across reports.
type Key struct {
	Place
	Judge   string // the id of the case or rule that reported it
	Summary string // Deviation.Summary
}

// InAnyRevision returns the key of the same finding without its revision.
func (k Key) InAnyRevision() Key {
	k.Revision = ""
	return k
}

// A LineKey identifies the line in which a report lists a finding. The findings of one line have
// different revisions.
type LineKey struct {
	Key            // without the revision
	Known   string // Finding.Known
	SDK     SDKFinding
	Outcome Outcome
}

// LineKey returns the key of the line that lists the finding.
func (f *Finding) LineKey() LineKey {
	k := LineKey{Key: f.Key().InAnyRevision(), Known: f.Known, Outcome: f.Outcome}
	if f.SDK != nil {
		k.SDK = *f.SDK
	}
	return k
}

// Fingerprint returns a short string that identifies the finding in every run and revision, for
// systems that use such strings to recognise known findings.
func (k Key) Fingerprint() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{k.Requirement, k.Judge, k.Summary, string(k.Transport)}, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// A Mistake is what a server does wrong, independent of the revision and of the judge that reports
// it.
type Mistake struct{ Requirement, Summary string }

// Mistake returns the mistake of the finding with this key.
func (k Key) Mistake() Mistake { return Mistake{k.Requirement, k.Summary} }

// Mistake returns the mistake of the deviation.
func (d *Deviation) Mistake() Mistake { return Mistake{d.Requirement, d.Summary} }

// Compare orders mistakes by requirement and summary.
func (m Mistake) Compare(other Mistake) int {
	return cmp.Or(strings.Compare(m.Requirement, other.Requirement), strings.Compare(m.Summary, other.Summary))
}

// A SearchKey identifies a finding of a search, and the finding that a replay file expects. Unlike
// Key it has no revision, transport or judge, because a search reports a mistake once, where it
// shows first. It has a method, because mistakes for different methods usually have different
// causes.
type SearchKey struct {
	Mistake
	Method string
}

// Compare orders keys by mistake and method.
func (k SearchKey) Compare(other SearchKey) int {
	return cmp.Or(k.Mistake.Compare(other.Mistake), strings.Compare(k.Method, other.Method))
}

// Place returns the verdict's requirement, revision and transport.
func (v *Verdict) Place() Place { return Place{v.Requirement, v.Revision, v.Transport} }

// Place returns the finding's requirement, revision and transport.
func (f *Finding) Place() Place { return Place{f.Requirement, f.Revision, f.Transport} }

// Key returns the key that identifies the finding.
func (f *Finding) Key() Key { return Key{f.Place(), f.Judge, f.Summary} }

// Key returns the key of the finding for this deviation, reported by a judge in a
// revision over a transport.
func (d *Deviation) Key(judge string, r spec.Revision, t spec.Transport) Key {
	return Key{Place{d.Requirement, r, t}, judge, d.Summary}
}

// NewFinding returns the finding for a deviation, completed from the catalogue.
// The caller sets its id, evidence and replay command.
func NewFinding(k Key, d *Deviation, o Outcome) Finding {
	q := spec.Requirements().Lookup(k.Requirement)
	return Finding{
		Requirement: k.Requirement, Level: q.Level, Basis: q.Basis(k.Revision), Revision: k.Revision, Transport: k.Transport,
		Judge: k.Judge, Outcome: o, Summary: k.Summary, Permitted: d.Permitted, Seen: d.Seen, Fix: d.Fix, Page: q.Page(k.Revision), CWE: q.CWE,
	}
}

// compareFindings orders findings: the most severe first, then by requirement,
// revision (newest first), transport, judge and summary.
func compareFindings(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(b.Outcome, a.Outcome),
		cmp.Compare(a.Requirement, b.Requirement),
		cmp.Compare(b.Revision, a.Revision),
		cmp.Compare(a.Transport, b.Transport),
		cmp.Compare(a.Judge, b.Judge),
		cmp.Compare(a.Summary, b.Summary),
	)
}

// add adds findings to the report. Each raises the verdict of its place; a
// missing verdict is added. All findings are sorted and renumbered, and
// references to their ids are updated.
func (p *Report) add(findings []Finding) {
	const added = "added" // the final ids are F1, F2, …
	for _, f := range findings {
		f.ID = fmt.Sprintf("%s %d", added, len(p.Findings))
		p.Findings = append(p.Findings, f)
		p.raiseVerdict(&f)
	}
	slices.SortStableFunc(p.Findings, compareFindings)
	ids := map[string]string{"": ""}
	for i := range p.Findings {
		id := fmt.Sprintf("F%d", i+1)
		ids[p.Findings[i].ID], p.Findings[i].ID = id, id
	}
	for i := range p.Findings {
		p.Findings[i].Group = ids[p.Findings[i].Group]
	}
	order := map[string]int{}
	for i := range p.Findings {
		order[p.Findings[i].ID] = i
	}
	for i := range p.Verdicts {
		v := &p.Verdicts[i]
		for n := range v.Findings {
			v.Findings[n] = ids[v.Findings[n]]
		}
		slices.SortFunc(v.Findings, func(a, b string) int { return order[a] - order[b] })
		v.BlockedBy = ids[v.BlockedBy]
	}
}

// raiseVerdict adds the finding to the verdict of its place, and raises the verdict to the
// finding's outcome if that is more severe.
func (p *Report) raiseVerdict(f *Finding) {
	place := f.Place()
	i := slices.IndexFunc(p.Verdicts, func(v Verdict) bool { return v.Place() == place })
	if i < 0 {
		i = len(p.Verdicts)
		p.Verdicts = append(p.Verdicts, Verdict{
			Requirement: f.Requirement, Area: spec.Requirements().Lookup(f.Requirement).Area, Level: f.Level,
			Revision: f.Revision, Transport: f.Transport,
		})
	}
	v := &p.Verdicts[i]
	v.Findings = append(v.Findings, f.ID)
	if !slices.Contains(v.Judges, f.Judge) {
		v.Judges = append(v.Judges, f.Judge)
	}
	if f.Outcome > v.Outcome {
		v.Outcome, v.Reason, v.BlockedBy, v.Lacks, v.LeftOut = f.Outcome, "", "", Setting{}, false
	}
}
