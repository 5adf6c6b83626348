package verdict

import (
	"cmp"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// Opinions gathers what judges say about requirements, except deviations, which
// are findings.
type Opinions struct {
	all   map[opinionKey]*opinion
	order []opinionKey
}

type opinionKey struct {
	Place
	judge string
}

// Gap is why a requirement was not observed, where the run may know more of it
// than the judge.
type Gap int

// The gaps.
const (
	// Explained: the judge's reason is all there is to say.
	Explained Gap = iota
	// NeverCameUp: a rule heard nothing that could have shown it.
	NeverCameUp
	// NothingSaid: a case came to its end without a word on it.
	NothingSaid
	// Unconfigured: a case needs something that the configuration could name.
	Unconfigured
)

// Opinion is what one judge says about a requirement.
type Opinion struct {
	Outcome Outcome
	Reason  string
	Gap     Gap
}

// opinion is one that a judge gave, or what holds while the judge is silent.
type opinion struct {
	Opinion
	given bool
}

// Expect enters a judge of a requirement, once, with the opinion that holds while
// the judge says nothing.
func (o *Opinions) Expect(place Place, judge string, silent Opinion) {
	if o.all == nil {
		o.all = map[opinionKey]*opinion{}
	}
	if key := (opinionKey{place, judge}); o.all[key] == nil {
		o.order = append(o.order, key)
		o.all[key] = &opinion{Opinion: silent}
	}
}

// Say records a judge's opinion of a place. Of several opinions of one judge the
// most severe counts; opinions of unexpected judges are ignored.
func (o *Opinions) Say(place Place, judge string, said Opinion) {
	have := o.all[opinionKey{place, judge}]
	if have != nil && (!have.given || said.Outcome > have.Outcome) {
		*have = opinion{said, true}
	}
}

// Verdicts merges the opinions: a verdict for each place at which a judge was
// expected, with the most severe opinion, of equals the one expected first. They
// are ordered by revision, the newest first, by transport, and then as the catalogue is.
func (o *Opinions) Verdicts() []Verdict {
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
		v.Judges = append(v.Judges, key.judge)
	}
	slices.SortStableFunc(out, func(a, b Verdict) int {
		return cmp.Or(cmp.Compare(b.Revision, a.Revision), cmp.Compare(a.Transport, b.Transport), cmp.Compare(rank[a.Requirement], rank[b.Requirement]))
	})
	return out
}

// Block names the finding that blocks what could not be judged, a revision each:
// the one on the handshake, or the only one that is broken.
func (p *Report) Block() {
	for i := range p.Verdicts {
		v := &p.Verdicts[i]
		if v.Outcome != Blocked {
			continue
		}
		if v.BlockedBy = p.blocker(v.Revision); v.BlockedBy != "" {
			v.Reason = "by " + v.BlockedBy + ": " + v.Reason
		}
	}
}

// blocker returns the id of the finding that blocks the rest of a revision, ""
// where none is known to.
func (p *Report) blocker(r spec.Revision) string {
	var broken []string
	for i := range p.Findings {
		f := &p.Findings[i]
		if f.Revision != r {
			continue
		}
		if area := spec.Requirements().Lookup(f.Requirement).Area; area == spec.AreaLifecycle || area == spec.AreaVersioning {
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
