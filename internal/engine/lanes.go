package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// A lane is a unit whose cases share a conversation. Over HTTP another session costs little, and
// the cases of a lane mostly wait. So the cases of a revision that can share a conversation are
// divided among several lanes. There are more of them if the server is slow, because then the
// longest lane decides how long the run takes. Over stdio each session needs a process, so there
// are several lanes only if the server is slow.
const (
	maxLanes      = 4
	minCases      = 8 // the minimum number of cases in each of several lanes
	maxLanesSlow  = 12
	minCasesSlow  = 4
	maxLanesStdio = 8
)

// laneCount returns among how many lanes to divide the given number of cases of a revision.
func (p *planner) laneCount(cases int) int {
	most, each := maxLanes, minCases
	switch over := p.o.Dialer.Transport(); {
	case p.slots == 1, over == spec.Stdio && !p.offer.isSlow:
		most = 1
	case over == spec.Stdio:
		most = min(maxLanesStdio, p.slots/len(p.offer.revisions))
	case p.offer.isSlow:
		most, each = maxLanesSlow, minCasesSlow
	}
	return max(1, min(most, cases/each))
}

// openLanes divides the cases of the given unit among several units that run concurrently, each
// with a conversation of its own. The number of units is what laneCount returns, or smaller if the
// server does not open so many sessions.
func (p *planner) openLanes(ctx context.Context, shared *unit) []*unit {
	opened := make([]*sharedConversation, p.laneCount(len(shared.cases)))
	var opening sync.WaitGroup
	for i := 1; i < len(opened); i++ {
		opening.Go(func() { opened[i] = p.openLane(ctx, shared.revision) })
	}
	opening.Wait()
	conversations := p.dropIfBusy(shared, slices.DeleteFunc(opened, func(s *sharedConversation) bool { return s == nil }))
	rates := p.rates()[shared.revision]
	parts := divideCases(shared.cases, 1+len(conversations), func(c *suite.Case) time.Duration { return rates.cost(shared, c) })
	out := []*unit{shared.withCases(parts[0])}
	for i, s := range conversations {
		out = append(out, &unit{revision: shared.revision, cases: parts[1+i], sharesConversation: true, conversation: s})
	}
	return out
}

// dropIfBusy drops conversations if a response in one of them came fast. Then the server is not
// slow: the machine was only busy during the probe, and so many conversations would make it busier
// still. The function ends the conversations that it drops, and returns the others.
func (p *planner) dropIfBusy(shared *unit, opened []*sharedConversation) []*sharedConversation {
	if !p.offer.isSlow || !slices.ContainsFunc(opened, func(s *sharedConversation) bool { return s.conv != nil && !s.conv.IsSlow() }) {
		return opened
	}
	p.offer.isSlow = false
	needed := min(len(opened), p.laneCount(len(shared.cases))-1)
	p.endShared(opened[needed:]...)
	return opened[:needed]
}

// divideCases distributes the cases among n parts that take about equally long. The cases of an
// area stay together, unless the area takes longer than an even share. The groups that take longest
// are placed first, each in the part that takes the least time so far. Each part has its cases in
// the given order.
func divideCases(cases []*suite.Case, n int, cost func(*suite.Case) time.Duration) [][]*suite.Case {
	groups := groupCases(cases, n, cost)
	slices.SortStableFunc(groups, func(a, b caseGroup) int {
		return cmp.Or(cmp.Compare(b.takes, a.takes), strings.Compare(a.cases[0].Area(), b.cases[0].Area()))
	})
	takes, partOf := make([]time.Duration, n), map[*suite.Case]int{}
	for _, g := range groups {
		least := slices.Index(takes, slices.Min(takes))
		takes[least] += g.takes
		for _, c := range g.cases {
			partOf[c] = least
		}
	}
	out := make([][]*suite.Case, n)
	for _, c := range cases {
		out[partOf[c]] = append(out[partOf[c]], c)
	}
	return out
}

// A caseGroup holds cases of one area that run in the same conversation.
type caseGroup struct {
	cases []*suite.Case
	takes time.Duration
}

// groupCases groups the cases by area. An area that takes longer than an nth of the total is
// divided into groups that take about the same time.
func groupCases(cases []*suite.Case, n int, cost func(*suite.Case) time.Duration) []caseGroup {
	areas := map[string]caseGroup{}
	var all time.Duration
	for _, c := range cases {
		g := areas[c.Area()]
		areas[c.Area()] = caseGroup{append(g.cases, c), g.takes + cost(c)}
		all += cost(c)
	}
	share := all/time.Duration(n) + 1
	var out []caseGroup
	for _, area := range slices.Sorted(maps.Keys(areas)) {
		whole := areas[area]
		most := whole.takes / (1 + whole.takes/share)
		var g caseGroup
		for _, c := range whole.cases {
			if g.takes >= most && len(g.cases) > 0 {
				out, g = append(out, g), caseGroup{}
			}
			g = caseGroup{append(g.cases, c), g.takes + cost(c)}
		}
		out = append(out, g)
	}
	return out
}

// openLane opens one more conversation for cases to share. It returns nil if the server does not
// serve it.
func (r *session) openLane(ctx context.Context, rev spec.Revision) *sharedConversation {
	o := r.o.clientOptions(rev)
	o.Pace, o.StartTimeout = r.timing.paces[rev], r.restartTimeout()
	conv, err := r.dial(ctx, o)
	if err != nil {
		return nil
	}
	if conv.Handshake(ctx) != nil || whyUnresponsive(ctx, conv) != "" {
		r.endProbe(conv)
		return nil
	}
	return &sharedConversation{conv: conv}
}
