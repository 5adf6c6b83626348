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

// Over HTTP a session costs little, and cases that share one mostly wait. So
// there are up to maxLanes shared sessions, twice as many if the server is slow,
// each with at least minLaneCases cases. Over stdio a session is a process, so only a
// slow server gets several.
const (
	maxLanes     = 4
	minLaneCases = 8
)

// maxSharedConversations returns how many conversations the cases of a revision may share.
func (p *planner) maxSharedConversations() int {
	switch over := p.o.Dialer.Transport(); {
	case p.slots == 1:
		return 1
	case over != spec.Stdio && p.offer.isSlow:
		return maxLanes * whenSlow
	case over != spec.Stdio:
		return maxLanes
	case p.offer.isSlow:
		return min(maxLanes*whenSlow, p.slots/len(p.offer.revisions))
	default:
		return 1
	}
}

// lanes divides the cases that share a conversation among several
// conversations, which run concurrently, if the server opens more sessions. The
// cases of an area stay together.
func (p *planner) lanes(ctx context.Context, shared *unit) []*unit {
	out := []*unit{shared}
	opened := make([]*sharedConversation, max(1, min(p.maxSharedConversations(), len(shared.cases)/minLaneCases)))
	var opening sync.WaitGroup
	for i := 1; i < len(opened); i++ {
		opening.Go(func() { opened[i] = p.openLane(ctx, shared.revision) })
	}
	opening.Wait()
	for _, s := range opened {
		if s != nil {
			lane := shared.withCases(nil)
			lane.conversation = s
			out = append(out, lane)
		}
	}
	rates := p.rates()[shared.revision]
	divideAreas(shared.cases, out, func(c *suite.Case) time.Duration { return rates.cost(shared, c) })
	return out
}

// divideAreas distributes the cases among the units, the area that takes longest first to the unit
// that has the least to do. Each unit has its cases in the given order.
func divideAreas(cases []*suite.Case, units []*unit, cost func(*suite.Case) time.Duration) {
	takes := map[string]time.Duration{}
	for _, c := range cases {
		takes[c.Area()] += cost(c)
	}
	areas := slices.SortedFunc(maps.Keys(takes), func(a, b string) int { return cmp.Or(cmp.Compare(takes[b], takes[a]), strings.Compare(a, b)) })
	load, unitOf := make([]time.Duration, len(units)), map[string]int{}
	for _, a := range areas {
		unitOf[a] = slices.Index(load, slices.Min(load))
		load[unitOf[a]] += takes[a]
	}
	for _, u := range units {
		u.cases = slices.DeleteFunc(slices.Clone(cases), func(c *suite.Case) bool { return units[unitOf[c.Area()]] != u })
	}
}

// openLane opens one more conversation to share; nil if the server does not
// serve it.
func (r *session) openLane(ctx context.Context, rev spec.Revision) *sharedConversation {
	o := r.o.clientOptions(rev)
	o.Pace, o.StartTimeout = r.timing.paces[rev], r.patience()
	conv, err := r.dial(ctx, o)
	if err != nil {
		return nil
	}
	if conv.Handshake(ctx) != nil || whyUnresponsive(ctx, conv) != "" {
		r.end(conv, probeOccasion, false)
		return nil
	}
	return &sharedConversation{conv: conv}
}
