package engine_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// TestLabelsSelectTheSame checks that a label filter selects the same cases in
// a run as in the suites' tests, whose specs are declared from SpecsOf.
func TestLabelsSelectTheSame(t *testing.T) {
	var mu sync.Mutex
	var ran []string
	noted := func(id string) func(context.Context, *suite.T) {
		return func(context.Context, *suite.T) { mu.Lock(); defer mu.Unlock(); ran = append(ran, id) }
	}
	cases := []suite.Case{
		{ID: "ping.a", Title: "a", Requirements: []string{pinged}, Run: noted("ping.a")},
		{ID: "messages.b", Title: "b", Requirements: []string{"base.response-id-echo"}, Run: noted("messages.b")},
		{ID: "ping.c", Title: "c", Requirements: []string{pinged}, Revisions: []spec.Revision{spec.V20241105}, Run: noted("ping.c")},
	}
	for filter, want := range map[string][]string{
		"MUST && ping":             {"ping.a"},
		"base":                     {"messages.b"},
		"messages":                 {"messages.b"},
		"2025-06-18 && over-stdio": {"messages.b", "ping.a"},
		"over-sse":                 nil,
		pinged + " || base":        {"messages.b", "ping.a"},
		"ping.a":                   {"ping.a"},
		"!ping":                    {"messages.b"},
	} {
		t.Run(filter, func(t *testing.T) {
			ran = nil
			_, _ = judge(t, &toy{}, engine.Options{
				Cases: cases, Revisions: []spec.Revision{spec.V20250618}, Selection: engine.Selection{Labels: filter},
			}) // it fails if nothing is selected
			slices.Sort(ran)
			if diff := cmp.Diff(want, ran); diff != "" {
				t.Errorf("the run's cases (-want +got):\n%s", diff)
			}
			selects := types.MustParseLabelFilter(filter)
			var declared []string
			for _, s := range engine.SpecsOf(cases, spec.V20250618, spec.Stdio) {
				if selects(s.Labels) {
					declared = append(declared, s.Judge)
				}
			}
			slices.Sort(declared)
			if diff := cmp.Diff(want, declared); diff != "" {
				t.Errorf("the declared specs (-want +got):\n%s", diff)
			}
		})
	}
}
