package engine_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// TestProfilesAreFilters checks that only the cases of the profiles run, that verdicts are
// only on their requirements, and that other filters narrow them further.
func TestProfilesAreFilters(t *testing.T) {
	const listed = "tools.list.answered"
	for _, c := range []struct {
		name, profiles, labels string
		focus                  []string
		pings, lists           bool // which of the two cases run
		narrowed               bool
		fails                  string
	}{
		{name: "none", pings: true, lists: true},
		{name: "one", profiles: "core@1", pings: true},
		{name: "another", profiles: "tools@1", lists: true},
		{name: "both", profiles: "core@1 tools@1", pings: true, lists: true},
		{name: "narrowed by a focus", profiles: "core@1 tools@1", focus: []string{listed}, lists: true, narrowed: true},
		{name: "narrowed by a case", profiles: "core@1 tools@1", focus: []string{"toy.lists"}, lists: true, narrowed: true},
		{name: "narrowed by labels", profiles: "core@1 tools@1", labels: "ping", pings: true, narrowed: true},
		{name: "a focus on what the profile lacks", profiles: "core@1", focus: []string{listed}, fails: "matches the filters"},
		{name: "another transport", profiles: "sse@1", fails: "judged only over sse"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var pings, lists atomic.Bool
				ping := pinging(true)
				run := ping.Run
				ping.Run = func(ctx context.Context, t *suite.T) { pings.Store(true); run(ctx, t) }
				list := suite.Case{ID: "toy.lists", Title: "lists", Requirements: []string{listed}, Run: func(_ context.Context, t *suite.T) { lists.Store(true); t.MarkKept(listed) }}
				s := engine.Selection{Focus: c.focus, Labels: c.labels}
				for _, name := range strings.Fields(c.profiles) {
					s.Profiles = append(s.Profiles, spec.LookupProfile(name))
				}
				p, err := judge(t, &toy{}, engine.Options{Cases: []suite.Case{ping, list}, Rules: rules.Base(), Revisions: []spec.Revision{spec.V20250618}, Selection: s})
				if c.fails != "" {
					if err == nil || !isA[*engine.SelectionError](err) || !strings.Contains(err.Error(), c.fails) {
						t.Errorf("the error is %v; want %q", err, c.fails)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]bool{c.pings, c.lists, c.narrowed}, []bool{pings.Load(), lists.Load(), p.Narrowed}); diff != "" {
					t.Errorf("the case that pings ran, the one that lists ran, the report is narrowed (-want +got):\n%s", diff)
				}
				for i := range p.Verdicts {
					id := p.Verdicts[i].Requirement
					if len(s.Profiles) > 0 && !slices.ContainsFunc(s.Profiles, func(x *spec.Profile) bool { return x.Has(id) }) {
						t.Errorf("%s is judged, which no profile has", id)
					}
				}
			})
		})
	}
}
