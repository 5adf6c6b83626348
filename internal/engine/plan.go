package engine

import (
	"context"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// A plan is what a run will do: which cases and rules judge which requirements, and the cases that
// must run for that.
type plan struct {
	units                []*unit        // the most urgent first: if several wait for a slot, the first gets it
	casePairs, rulePairs []pair         // cases, and rules, each with a requirement to judge
	areas                map[string]int // the number of cases in the units, by area
	leftOut              int            // how many cases a quick run leaves out
}

// total returns the number of cases in the units.
func (p *plan) total() int {
	n := 0
	for _, cases := range p.areas {
		n += cases
	}
	return n
}

// isEmpty reports whether no pair is selected.
func (p *plan) isEmpty() bool { return len(p.casePairs) == 0 && len(p.rulePairs) == 0 }

// leavesOutAll reports whether a quick run leaves out every selected case that
// applies.
func (p *plan) leavesOutAll() bool { return p.leftOut > 0 && p.total() == 0 }

// instance is one case or rule in one revision.
type instance struct {
	judge    string // the id of the case or rule
	revision spec.Revision
}

// A planner makes the plan of a run from its options and from what the probe has found.
type planner struct {
	o     *Options
	offer *offer
	slots int // how many servers, or sessions with one server, may exist at once
	// singleProcess reports whether no case can have a process of its own.
	singleProcess bool
	// rates returns the current rates in each revision. Opening a lane may change them.
	rates func() map[spec.Revision]rates
	// openLane opens one more conversation for cases to share; it returns nil if the server does
	// not serve it.
	openLane func(context.Context, spec.Revision) *sharedConversation
	// endShared ends conversations that openLane has opened.
	endShared func(...*sharedConversation)
}

// newPlanner returns a planner of the run.
func newPlanner(s *session, offered *offer) *planner {
	return &planner{o: &s.o, offer: offered, slots: s.gate.slots(), singleProcess: s.hasSingleProcess(), rates: s.timing.allRates, openLane: s.openLane, endShared: s.endShared}
}

// plan groups the selected cases that apply into units, and orders the units. The deadline of ctx
// is the run's time limit.
func (p *planner) plan(ctx context.Context) *plan {
	out := &plan{areas: map[string]int{}}
	var waiting, own, exclusive []*unit
	for _, rev := range p.offer.revisions {
		pairs := p.o.pairs(rev)
		var sharing []*suite.Case
		var chained chained
		ruled := false
		wanted := map[int]bool{}
		for _, each := range pairs {
			if each.caseIndex < 0 {
				out.rulePairs = append(out.rulePairs, each)
				ruled = true
				continue
			}
			out.casePairs = append(out.casePairs, each)
			wanted[each.caseIndex] = true
		}
		for _, c := range p.casesToRun(rev, wanted, ruled) {
			if p.offer.whyBlocked(c, rev) != "" || p.offer.whyInapplicable(c, rev) != "" {
				continue
			}
			if p.o.leavesOut(c) {
				out.leftOut++
				continue
			}
			out.areas[c.Area()]++
			switch {
			case c.SharesConversation:
				sharing = append(sharing, c)
			case c.Exclusive:
				exclusive = append(exclusive, &unit{revision: rev, cases: []*suite.Case{c}, exclusive: true, ownProcess: rev == p.offer.alone})
			case p.offer.formsChain(c, rev):
				chained.add(c)
			case c.Waits:
				waiting = append(waiting, &unit{revision: rev, cases: []*suite.Case{c}, ownProcess: p.hasOwnProcess(c, rev)})
			default:
				own = append(own, &unit{revision: rev, cases: []*suite.Case{c}, ownProcess: p.hasOwnProcess(c, rev)})
			}
		}
		chains, joining := chained.units(rev)
		waiting = append(waiting, chains...)
		if sharing = append(sharing, joining...); ruled || len(sharing) > 0 {
			shared := &unit{revision: rev, cases: sharing, sharesConversation: true, ownProcess: rev == p.offer.alone}
			if shared.ownProcess {
				out.units = append(out.units, shared)
			} else {
				out.units = append(out.units, p.openLanes(ctx, shared)...)
			}
		}
	}
	out.units = slices.Concat(out.units, waiting, own, exclusive)
	p.orderUnits(ctx, out)
	return out
}

// hasOwnProcess reports whether a unit of case c in the revision runs on a process of its own.
func (p *planner) hasOwnProcess(c *suite.Case, rev spec.Revision) bool {
	return rev == p.offer.alone || c.OwnServer && !p.singleProcess
}

// casesToRun returns the selected cases, and those that provoke what a selected rule judges. If
// there are no such cases, although a rule is selected, it returns the cases that share a
// conversation. Otherwise the rules would see little more than the handshake, and report the
// requirement as kept. wanted holds the indexes of the selected cases; ruled is set if a rule is
// selected.
func (p *planner) casesToRun(rev spec.Revision, wanted map[int]bool, ruled bool) []*suite.Case {
	var selected, sharing []*suite.Case
	for i := range p.o.Cases {
		switch c := &p.o.Cases[i]; {
		case wanted[i] || p.o.provokes(c, rev):
			selected = append(selected, c)
		case ruled && c.SharesConversation && c.AppliesTo(rev, p.o.Dialer.Transport()):
			sharing = append(sharing, c)
		}
	}
	if len(selected) == 0 {
		return sharing
	}
	return selected
}
