package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transport/stdio"
)

func TestMakespan(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name  string
		slots int
		loads []load
		want  time.Duration
	}{
		{"nothing", 2, nil, 0},
		{"one after the other", 1, []load{{left: 2 * s}, {left: 3 * s}}, 5 * s},
		{"side by side", 2, []load{{left: 2 * s}, {left: 3 * s}}, 3 * s},
		{"the first free slot", 2, []load{{left: 3 * s}, {left: 1 * s}, {left: 1 * s}}, 3 * s},
		{"a long one last", 2, []load{{left: 1 * s}, {left: 1 * s}, {left: 3 * s}}, 4 * s},
		{"what runs has a slot", 2, []load{{left: 1 * s}, {left: 4 * s, runs: true}, {left: 1 * s}, {left: 1 * s}}, 4 * s},
		{"more run than there are slots", 1, []load{{left: 1 * s}, {left: 4 * s, runs: true}, {left: 2 * s, runs: true}}, 4 * s},
		{"no slot is one", 0, []load{{left: 2 * s}, {left: 3 * s}}, 5 * s},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := makespan(c.slots, c.loads); got != c.want {
				t.Errorf("%v, not %v", got, c.want)
			}
		})
	}
}

// planned returns an execution of these units over stdio, in which each response takes the given
// time.
func planned(response time.Duration, units ...*unit) *execution {
	o := Options{Dialer: stdio.InProcess("none", nil), Jobs: 1}.withDefaults()
	s, offered := newSession(o), &offer{over: spec.Stdio, revisions: []spec.Revision{spec.V20250618, spec.V20251125}}
	for _, rev := range offered.revisions {
		s.timing.paces[rev].NoteDuration(response)
	}
	return newExecution(s, offered, &plan{units: units}, &openConversations{})
}

func plannerOf(x *execution) *planner { return newPlanner(x.s, x.offer) }

func withRounds(id string, rounds int) *suite.Case {
	return &suite.Case{ID: id, Rounds: suite.Rounds{Stdio: rounds}}
}

func own(rev spec.Revision, c *suite.Case) *unit {
	return &unit{revision: rev, cases: []*suite.Case{c}, exclusive: c.Exclusive}
}

// TestArrange checks that the longest units start first if there is enough time, and otherwise
// those that judge the most in their time.
func TestArrange(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit time.Duration // 0: none
		want  []string
	}{
		{"no limit", 0, []string{"shared.1", "shared.2", "own.long", "own.long-old", "own.waits", "own.short", "own.alone"}},
		{"enough time", time.Minute, []string{"shared.1", "shared.2", "own.long", "own.long-old", "own.waits", "own.short", "own.alone"}},
		{"too little", 5 * time.Second, []string{"shared.2", "shared.1", "own.short", "own.long", "own.waits", "own.long-old", "own.alone"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				waiting, alone := withRounds("own.waits", 1), withRounds("own.alone", 1)
				waiting.Waits, alone.Exclusive = true, true
				one, two := withRounds("shared.1", 9), withRounds("shared.2", 2)
				one.SharesConversation, two.SharesConversation = true, true
				x := planned(100*time.Millisecond,
					own(spec.V20251125, alone),
					own(spec.V20251125, withRounds("own.short", 2)),
					own(spec.V20250618, withRounds("own.long-old", 40)),
					own(spec.V20251125, waiting),
					own(spec.V20251125, withRounds("own.long", 40)),
					&unit{revision: spec.V20251125, sharesConversation: true, cases: []*suite.Case{one, two}},
				)
				q := spec.Requirements().All()[0]
				for judge, n := range map[string]int{"shared.1": 1, "shared.2": 5, "own.short": 3, "own.long": 9, "own.waits": 2, "own.long-old": 1} {
					for range n {
						for _, rev := range x.offer.revisions {
							x.plan.casePairs = append(x.plan.casePairs, pair{judge: judge, requirement: q, revision: rev})
						}
					}
				}
				ctx := t.Context()
				if c.limit > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.limit)
					defer cancel()
				}
				plannerOf(x).orderUnits(ctx, x.plan)
				var got []string
				for _, u := range x.plan.units {
					for _, each := range u.cases {
						got = append(got, each.ID)
					}
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("order (-want +got):\n%s", diff)
				}
			})
		})
	}
}
