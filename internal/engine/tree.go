package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A Plan is what a run will do, as a tree of specs.
type Plan struct {
	Specs    []Spec
	outcomes *specOutcomes
}

// specOutcomes are the outcomes of the specs of a run.
type specOutcomes struct {
	settled chan struct{} // closed when they are known
	all     map[instance]verdict.Outcome
}

func newSpecOutcomes() *specOutcomes {
	return &specOutcomes{settled: make(chan struct{}), all: map[instance]verdict.Outcome{}}
}

// settle takes the outcomes from a report. The outcome of a judge is its most severe verdict, that
// of a case at least its most severe finding. A case that finished without either only provoked what
// rules judge, and its outcome is Kept.
func (o *specOutcomes) settle(p *verdict.Report, finished *finishedCases) {
	raise := func(judge string, rev spec.Revision, to verdict.Outcome) {
		key := instance{judge, rev}
		o.all[key] = max(o.all[key], to)
	}
	for i := range p.Verdicts {
		for _, judge := range p.Verdicts[i].Judges {
			raise(judge, p.Verdicts[i].Revision, p.Verdicts[i].Outcome)
		}
	}
	for i := range p.Findings {
		raise(p.Findings[i].Case, p.Findings[i].Revision, p.Findings[i].Outcome)
	}
	for key := range finished.all {
		if _, known := o.all[key]; !known {
			o.all[key] = verdict.Kept
		}
	}
	close(o.settled)
}

// A Spec is one case or rule in one revision over a transport, with the labels
// of all requirements that it judges.
type Spec struct {
	Area      string
	Judge     string
	Title     string
	Revision  spec.Revision
	Transport spec.Transport
	Exclusive bool // no other spec runs at the same time
	Labels    []string
}

// Text returns the text of the spec, by which ginkgo --focus selects.
func (s *Spec) Text() string {
	return fmt.Sprintf("%s: %s (%s, %s)", s.Judge, s.Title, s.Revision, s.Transport)
}

// SpecsOf lists the specs of cases in a revision over a transport. Their labels
// include the requirements that rules judge in the traffic that a case
// provokes, so a filter selects the same cases as in a run.
func SpecsOf(cases []suite.Case, rev spec.Revision, over spec.Transport) []Spec {
	var t specTree
	for i := range cases {
		c := &cases[i]
		for _, q := range spec.Requirements().All() {
			if c.Touches(q.ID) && q.AppliesTo(rev, over) && c.AppliesTo(rev, over) {
				t.add(pair{c.ID, c.Area(), q, rev, i}, c.Title, c.Exclusive, over)
			}
		}
	}
	return t.specs
}

// specTree merges a judge's opinions on several requirements into one spec.
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
	for _, label := range Labels(p.judge, p.area, p.requirement, p.revision, over) {
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

// Await waits for the verdicts of the run and returns the most severe outcome
// of the requirements that the spec's judge judges. It returns false if ctx
// ends first.
func (p *Plan) Await(ctx context.Context, s Spec) (verdict.Outcome, bool) {
	select {
	case <-p.outcomes.settled:
		return p.outcomes.all[instance{s.Judge, s.Revision}], true
	case <-ctx.Done():
		return 0, false
	}
}
