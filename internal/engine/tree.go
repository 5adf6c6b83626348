package engine

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Plan is what a run will do, for whoever shows it as a tree of specs.
type Plan struct {
	Specs []Spec
	r     *execution
}

// Spec is one case or rule in one revision, with all its labels.
type Spec struct {
	Area   string
	Judge  string
	Title  string
	Labels []string
	key    instance
}

// treePlan lists the selected judges: cases first, the rules last.
func (r *execution) treePlan() *Plan {
	p := &Plan{r: r}
	at := map[instance]int{}
	titles := map[string]string{}
	for i := range r.o.Rules {
		titles[r.o.Rules[i].ID] = r.o.Rules[i].Title
	}
	for _, pairs := range [][]pair{r.casePairs, r.rulePairs} {
		for _, pr := range pairs {
			key := instance{pr.judge, pr.revision}
			labels := Labels(pr.judge, pr.area, pr.requirement, pr.revision, r.over())
			i, ok := at[key]
			if !ok {
				title := titles[pr.judge]
				if pr.caseIndex >= 0 {
					title = r.o.Cases[pr.caseIndex].Title
				}
				i = len(p.Specs)
				at[key] = i
				p.Specs = append(p.Specs, Spec{Area: pr.area, Judge: pr.judge, Title: title, key: key})
			}
			p.Specs[i].Labels = append(p.Specs[i].Labels, labels...)
		}
	}
	return p
}

// Await waits for the verdicts of the run and returns the heaviest outcome
// among those that the spec's judge had a say in.
func (p *Plan) Await(ctx context.Context, s Spec) (verdict.Outcome, bool) {
	select {
	case <-p.r.settled:
		return p.r.final[s.key], true
	case <-ctx.Done():
		return 0, false
	}
}
