package engine_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestLabelsSelectTheSame checks that a label filter selects the same cases in
// a run as in the suites' tests, whose specs are declared from SpecsOf, and that the run's own specs
// are the same.
func TestLabelsSelectTheSame(t *testing.T) {
	var mu sync.Mutex
	var ran []string
	noted := func(id string) func(context.Context, *suite.T) {
		return func(context.Context, *suite.T) { mu.Lock(); defer mu.Unlock(); ran = append(ran, id) }
	}
	cases := []suite.Case{
		{ID: "ping.a", Title: "a", Requirements: []string{pinged}, Run: noted("ping.a")},
		{ID: "messages.b", Title: "b", Requirements: []string{"base.response-id-echo"}, Run: noted("messages.b")},
		{ID: "tools.d", Title: "d", Provokes: []string{"base.request-answered"}, Run: noted("tools.d")},
		{ID: "ping.c", Title: "c", Requirements: []string{pinged}, Revisions: []spec.Revision{spec.V20241105}, Run: noted("ping.c")},
	}
	answered := []rules.Rule{{ID: "rule.answered", Title: "answered", Requirements: []string{"base.request-answered"}, Start: func() rules.Fold { return rules.Fold{} }}}
	for filter, want := range map[string][]string{
		"MUST && ping":             {"ping.a"},
		"base":                     {"messages.b", "tools.d"},
		"messages":                 {"messages.b"},
		"2025-06-18 && over-stdio": {"messages.b", "ping.a", "tools.d"},
		"over-sse":                 nil,
		pinged + " || base":        {"messages.b", "ping.a", "tools.d"},
		"ping.a":                   {"ping.a"},
		"!ping":                    {"messages.b", "tools.d"},
	} {
		t.Run(filter, func(t *testing.T) {
			ran = nil
			var reported []engine.Spec
			_, _ = judge(t, &toy{}, engine.Options{
				Cases: cases, Rules: answered, Revisions: []spec.Revision{spec.V20250618}, Selection: engine.Selection{Labels: filter},
				Tree: func(p *engine.Plan) {
					reported = slices.DeleteFunc(slices.Clone(p.Specs), func(s engine.Spec) bool { return s.Judge == answered[0].ID })
					for _, s := range p.Specs {
						if result, ok := p.Await(t.Context(), s); !ok || s.Judge == "tools.d" && result.Outcome != verdict.Kept {
							t.Errorf("the outcome of %s is %s", s.Judge, result.Outcome)
						}
					}
				},
			}) // it fails if nothing is selected
			slices.Sort(ran)
			if diff := cmp.Diff(want, ran); diff != "" {
				t.Errorf("the run's cases (-want +got):\n%s", diff)
			}
			selects := types.MustParseLabelFilter(filter)
			declared := slices.DeleteFunc(engine.SpecsOf(cases, spec.V20250618, spec.Stdio), func(s engine.Spec) bool { return !s.IsSelected(selects) })
			if diff := cmp.Diff(declared, reported, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(engine.Spec{})); diff != "" {
				t.Errorf("the specs that a run reports (-declared +reported):\n%s", diff)
			}
		})
	}
}

// TestSpecOfACaseThatGaveUp checks that a case that only provokes what rules judge, and gave up
// before that, is not reported as kept.
func TestSpecOfACaseThatGaveUp(t *testing.T) {
	cases := []suite.Case{
		{ID: "tools.stops", Title: "stops", Provokes: []string{"base.request-answered"}, Run: func(_ context.Context, t *suite.T) { t.GiveUp("nothing can be sent") }},
		{ID: "tools.ends", Title: "ends", Provokes: []string{"base.request-answered"}, Run: func(context.Context, *suite.T) {}},
	}
	answered := []rules.Rule{{ID: "rule.answered", Title: "answered", Requirements: []string{"base.request-answered"}, Start: func() rules.Fold { return rules.Fold{} }}}
	got := map[string]verdict.Outcome{}
	_, _ = judge(t, &toy{}, engine.Options{
		Cases: cases, Rules: answered, Revisions: []spec.Revision{spec.V20250618},
		Tree: func(p *engine.Plan) {
			for _, s := range p.Specs {
				result, _ := p.Await(t.Context(), s)
				got[s.Judge] = result.Outcome
			}
		},
	})
	want := map[string]verdict.Outcome{"tools.stops": verdict.NotObserved, "tools.ends": verdict.Kept, "rule.answered": verdict.NotObserved}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the outcomes (-want +got):\n%s", diff)
	}
}
