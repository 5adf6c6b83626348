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
						if outcome, ok := p.Await(t.Context(), s); !ok || s.Judge == "tools.d" && outcome != verdict.Kept {
							t.Errorf("the outcome of %s is %s", s.Judge, outcome)
						}
					}
				},
			}) // it fails if nothing is selected
			slices.Sort(ran)
			if diff := cmp.Diff(want, ran); diff != "" {
				t.Errorf("the run's cases (-want +got):\n%s", diff)
			}
			selects := types.MustParseLabelFilter(filter)
			declared := slices.DeleteFunc(engine.SpecsOf(cases, spec.V20250618, spec.Stdio), func(s engine.Spec) bool { return !selects(s.Labels) })
			if diff := cmp.Diff(declared, reported, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the specs that a run reports (-declared +reported):\n%s", diff)
			}
		})
	}
}
