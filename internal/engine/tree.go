package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A Plan is what a run will do, as a tree of Ginkgo specs.
type Plan struct {
	Specs    []Spec
	labels   string // see Selection.Labels
	outcomes *specOutcomes
}

// A SpecResult is the result of a Ginkgo spec, which is a case or a rule, see Spec.
type SpecResult struct {
	Outcome verdict.Outcome
	// Findings are the findings on the requirements that the case or rule judges and, for a case,
	// also the findings in its traffic. Their ids may still change.
	Findings []verdict.Finding
}

// specOutcomes are the results of the specs of a run.
type specOutcomes struct {
	settled chan struct{} // closed when the results are known
	all     map[instance]SpecResult
}

func newSpecOutcomes() *specOutcomes {
	return &specOutcomes{settled: make(chan struct{}), all: map[instance]SpecResult{}}
}

// readReport reads the outcomes from a report. The outcome of a case or rule is its most severe
// verdict; for a case, the findings in its traffic count too. A case that finished without a
// verdict and without a finding only provoked what rules judge. Its outcome is Kept, or the one
// with which it stopped early.
func (o *specOutcomes) readReport(p *verdict.Report, finished *finishedCases) {
	raise := func(judge string, rev spec.Revision, to verdict.Outcome, because ...verdict.Finding) {
		key := instance{judge, rev}
		result := o.all[key]
		result.Outcome = max(result.Outcome, to)
		result.Findings = append(result.Findings, because...)
		o.all[key] = result
	}
	found := map[verdict.Place][]verdict.Finding{}
	for i := range p.Findings {
		found[p.Findings[i].Place()] = append(found[p.Findings[i].Place()], p.Findings[i])
	}
	for i := range p.Verdicts {
		v := &p.Verdicts[i]
		for _, judge := range v.Judges {
			raise(judge, v.Revision, v.Outcome, found[v.Place()]...)
		}
		for _, f := range found[v.Place()] {
			if !slices.Contains(v.Judges, f.Case) {
				raise(f.Case, f.Revision, f.Outcome, f)
			}
		}
	}
	for key, outcome := range finished.all {
		if _, known := o.all[key]; !known {
			o.all[key] = SpecResult{Outcome: outcome}
		}
	}
	close(o.settled)
}

// A Spec is a Ginkgo spec: one case or rule in one revision over one transport, with the labels of
// all requirements that it judges or provokes.
type Spec struct {
	Area      string
	Judge     string // the id of the case or rule
	Title     string
	Revision  spec.Revision
	Transport spec.Transport
	Exclusive bool // no other spec runs at the same time
	Labels    []string
	// labelsByRequirement holds the labels for each requirement separately; Labels merges them.
	labelsByRequirement [][]string
}

// IsSelected reports whether a run with the filter judges one of the spec's requirements. Ginkgo
// applies a filter to all labels of a spec together, but a run applies it to the labels of each
// requirement: "MUST && tools" does not select a case because of a MUST about something else.
func (s *Spec) IsSelected(filter types.LabelFilter) bool {
	return slices.ContainsFunc(s.labelsByRequirement, filter)
}

// Text returns the text of the spec, which ginkgo --focus matches.
func (s *Spec) Text() string {
	return fmt.Sprintf("%s: %s (%s, %s)", s.Judge, s.Title, s.Revision, s.Transport)
}

// SpecsOf lists the specs of cases in a revision over a transport. Their labels include those of
// the requirements that rules judge in the traffic that a case provokes. A run with a filter runs
// the cases whose specs are selected, see Spec.IsSelected.
func SpecsOf(cases []suite.Case, rev spec.Revision, over spec.Transport) []Spec {
	var t specTree
	for i := range cases {
		c := &cases[i]
		for _, q := range spec.Requirements().All() {
			if c.JudgesOrProvokes(q.ID) && q.AppliesTo(rev, over) && c.AppliesTo(rev, over) {
				t.add(pair{c.ID, c.Area(), q, rev, i}, c.Title, c.Exclusive, over)
			}
		}
	}
	return t.specs
}

// specTree merges the pairs of a case or rule and its requirements into one spec, see pair.
type specTree struct {
	specs []Spec
	at    map[instance]int
}

func (t *specTree) add(p pair, title string, exclusive bool, over spec.Transport) {
	key := instance{p.judge, p.revision}
	i, ok := t.at[key]
	if !ok {
		if t.at == nil {
			t.at = map[instance]int{}
		}
		i = len(t.specs)
		t.at[key] = i
		t.specs = append(t.specs, Spec{Area: p.area, Judge: p.judge, Title: title, Revision: p.revision, Transport: over, Exclusive: exclusive})
	}
	s := &t.specs[i]
	opinion := Labels(p.judge, p.area, p.requirement, p.revision, over)
	s.labelsByRequirement = append(s.labelsByRequirement, opinion)
	for _, label := range opinion {
		if !slices.Contains(s.Labels, label) {
			s.Labels = append(s.Labels, label)
		}
	}
}

// specs lists the selected cases, as SpecsOf does, and then the selected rules.
func (p *plan) specs(o *Options, revisions []spec.Revision) []Spec {
	chosen := map[instance]bool{}
	for _, each := range p.casePairs {
		chosen[instance{each.judge, each.revision}] = true
	}
	for _, u := range p.units {
		for _, c := range u.cases {
			chosen[instance{c.ID, u.revision}] = true
		}
	}
	over := o.Dialer.Transport()
	var out []Spec
	for _, rev := range revisions {
		out = append(out, SpecsOf(slices.DeleteFunc(slices.Clone(o.Cases), func(c suite.Case) bool { return !chosen[instance{c.ID, rev}] }), rev, over)...)
	}
	titles := map[string]string{}
	for i := range o.Rules {
		titles[o.Rules[i].ID] = o.Rules[i].Title
	}
	var rules specTree
	for _, each := range p.rulePairs {
		rules.add(each, titles[each.judge], false, over)
	}
	return append(out, rules.specs...)
}

// Await waits for the verdicts of the run and returns the result of the spec. It returns false if
// ctx ends first.
func (p *Plan) Await(ctx context.Context, s Spec) (SpecResult, bool) {
	select {
	case <-p.outcomes.settled:
		return p.outcomes.all[instance{s.Judge, s.Revision}], true
	case <-ctx.Done():
		return SpecResult{}, false
	}
}
