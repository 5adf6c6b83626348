package verdict

import (
	"cmp"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// opinions collects what judges report about requirements, except deviations,
// which are findings.
type opinions struct {
	all   map[OpinionKey]*opinion
	order []OpinionKey
}

// An OpinionKey identifies an opinion by what it is about and by its judge.
type OpinionKey struct {
	Place
	Judge string
}

// A Gap classifies why a requirement was not observed, so that the run can replace the judge's
// reason with a more exact one.
type Gap int

// The gaps.
const (
	// Explained means that the judge's reason is complete.
	Explained Gap = iota
	// NeverCameUp means that a rule saw no message from which it could judge the requirement.
	NeverCameUp
	// NothingSaid means that a case finished without reporting on the requirement.
	NothingSaid
	// Unconfigured means that a case needs something, such as a fixture, that the configuration
	// could name.
	Unconfigured
)

// An Opinion is what one judge reports about a requirement.
type Opinion struct {
	Outcome Outcome
	Reason  string
	Gap     Gap
}

// An opinion is a judge's opinion, or the default until the judge gives one.
type opinion struct {
	Opinion
	given bool
}

// expect implements Builder.Expect.
func (o *opinions) expect(place Place, judge string, silent Opinion) {
	if o.all == nil {
		o.all = map[OpinionKey]*opinion{}
	}
	if key := (OpinionKey{place, judge}); o.all[key] == nil {
		o.order = append(o.order, key)
		o.all[key] = &opinion{Opinion: silent}
	}
}

// add implements Builder.AddOpinion.
func (o *opinions) add(place Place, judge string, said Opinion) {
	have := o.all[OpinionKey{place, judge}]
	if have != nil && (!have.given || said.Outcome > have.Outcome) {
		*have = opinion{said, true}
	}
}

// verdicts merges the opinions: it returns a verdict for each place for which a judge was
// registered. The most severe opinion counts; of equally severe ones, that of the judge that was
// registered first. The verdicts are ordered by revision (newest first), by transport, and by the
// order of the catalogue.
func (o *opinions) verdicts() []Verdict {
	rank := map[string]int{}
	for i, q := range spec.Requirements().All() {
		rank[q.ID] = i
	}
	at := map[Place]int{}
	var out []Verdict
	for _, key := range o.order {
		i, known := at[key.Place]
		if !known {
			i = len(out)
			at[key.Place] = i
			q := spec.Requirements().Lookup(key.Requirement)
			out = append(out, Verdict{
				Requirement: q.ID, Area: q.Area, Level: q.Level, Revision: key.Revision, Transport: key.Transport, Outcome: NotApplicable,
			})
		}
		v, said := &out[i], o.all[key]
		if len(v.Judges) == 0 || said.Outcome > v.Outcome {
			v.Outcome, v.Reason, v.Gap = said.Outcome, said.Reason, said.Gap
		}
		v.Judges = append(v.Judges, key.Judge)
	}
	slices.SortStableFunc(out, func(a, b Verdict) int {
		return cmp.Or(cmp.Compare(b.Revision, a.Revision), cmp.Compare(a.Transport, b.Transport), cmp.Compare(rank[a.Requirement], rank[b.Requirement]))
	})
	return out
}

// markBlocked sets BlockedBy of each blocked verdict to the finding that blocks the rest of its
// revision: a finding on the handshake or, without one, the only finding whose outcome is broken.
func (p *Report) markBlocked() {
	for i := range p.Verdicts {
		v := &p.Verdicts[i]
		if v.Outcome != Blocked {
			continue
		}
		if v.BlockedBy = p.blockingFinding(v.Revision); v.BlockedBy != "" {
			v.Reason = "by " + v.BlockedBy + ": " + v.Reason
		}
	}
}

// blockingFinding returns the id of the finding that blocks the rest of a revision, or "" if that
// is unknown.
func (p *Report) blockingFinding(r spec.Revision) string {
	var broken []string
	for i := range p.Findings {
		f := &p.Findings[i]
		if f.Revision != r {
			continue
		}
		if spec.Requirements().Lookup(f.Requirement).IsOfHandshake() {
			return f.ID
		}
		if f.Outcome == Broken {
			broken = append(broken, f.ID)
		}
	}
	if len(broken) == 1 {
		return broken[0]
	}
	return ""
}
