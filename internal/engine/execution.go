package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// An execution is the plan of a run, with the observations of its cases and
// rules.
type execution struct {
	*offer
	units                []*unit
	rulePairs, casePairs []pair
	tally                tally
	leftOut              int                       // cases that a quick run left out
	wants                map[instance][]suite.Want // the missing configuration that cases reported
	finished             map[instance]bool         // cases that ran to their end
	outlook              *outlook
	idle                 chan struct{} // see suite.Env; nil unless cases share a conversation

	settled chan struct{}                // closed when all verdicts are known
	final   map[instance]verdict.Outcome // for the spec tree
}

// instance is one case or rule in one revision.
type instance struct {
	judge    string
	revision spec.Revision
}

// newExecution groups the selected cases that apply into units.
func newExecution(ctx context.Context, o *offer) *execution {
	r := &execution{offer: o, wants: map[instance][]suite.Want{}, finished: map[instance]bool{}, outlook: newOutlook(), settled: make(chan struct{})}
	var waiting, own, exclusive []*unit
	for _, rev := range r.revisions {
		pairs := r.o.pairs(rev)
		shared := &unit{revision: rev, sharesConversation: true}
		var chained chained
		ruled := false
		wanted := map[int]bool{}
		for _, p := range pairs {
			if p.caseIndex < 0 {
				r.rulePairs = append(r.rulePairs, p)
				ruled = true
				continue
			}
			r.casePairs = append(r.casePairs, p)
			wanted[p.caseIndex] = true
		}
		for _, c := range r.casesToRun(rev, wanted, ruled) {
			if r.isBlocked(c, rev) != "" || r.missing(c, rev) != "" {
				continue
			}
			if r.o.leavesOut(c) {
				r.leftOut++
				continue
			}
			r.tally.add(c.Area())
			switch {
			case c.SharesConversation:
				shared.cases = append(shared.cases, c)
			case c.Exclusive:
				exclusive = append(exclusive, &unit{revision: rev, cases: []*suite.Case{c}, exclusive: true})
			case r.formsChain(c, rev):
				chained.add(c)
			case c.Waits:
				waiting = append(waiting, &unit{revision: rev, cases: []*suite.Case{c}, ownProcess: c.OwnServer && !r.hasSingleProcess()})
			default:
				own = append(own, &unit{revision: rev, cases: []*suite.Case{c}, ownProcess: c.OwnServer && !r.hasSingleProcess()})
			}
		}
		waiting = append(waiting, chained.units(shared)...)
		if ruled || len(shared.cases) > 0 {
			r.units = append(r.units, r.lanes(ctx, shared)...)
		}
	}
	r.units = slices.Concat(r.units, waiting, own, exclusive)
	r.arrange(ctx)
	for i, u := range r.units {
		u.rank = i
	}
	return r
}

// casesToRun returns the cases whose opinion is wanted, and those that provoke what a
// selected rule judges. If there are none, although rules are selected, it returns the
// cases that share a conversation: the rules alone would see hardly more than the
// opening, and call that kept.
func (r *execution) casesToRun(rev spec.Revision, wanted map[int]bool, ruled bool) []*suite.Case {
	var selected, sharing []*suite.Case
	for i := range r.o.Cases {
		switch c := &r.o.Cases[i]; {
		case wanted[i] || r.o.provokes(c, rev):
			selected = append(selected, c)
		case ruled && c.SharesConversation && c.AppliesTo(rev, r.transport()):
			sharing = append(sharing, c)
		}
	}
	if len(selected) == 0 {
		return sharing
	}
	return selected
}

// runUnits runs all units and waits until their servers have ended. It calls
// confirm for each unit whose findings have to be confirmed, and waits for the
// goroutines that confirm starts.
func (r *execution) runUnits(ctx context.Context, confirm func(context.Context, *unit, *sync.WaitGroup)) {
	var all, sharing sync.WaitGroup
	start := func(u *unit) {
		all.Add(1)
		var shared *sharedConversation
		if u.isLane() {
			sharing.Add(1)
			if shared = u.conversation; shared == nil {
				shared = r.shared[u.revision]
			}
		}
		after := func() {
			if u.isLane() {
				sharing.Done()
			}
			r.repeat(ctx, u, func() {
				if !r.o.Unconfirmed {
					confirm(ctx, u, &all)
				}
				all.Done()
			})
		}
		if ctx.Err() != nil {
			if shared != nil {
				r.endAll([]*sharedConversation{shared})
			}
			after()
			return
		}
		u.run(ctx, r, shared, func(c *suite.Case) { r.reportDone(u, c) }, after)
	}
	workers := make(chan struct{}, r.gate.most)
	var started, busy sync.WaitGroup
	if slices.ContainsFunc(r.units, func(u *unit) bool { return u.sharesConversation && len(u.cases) > 0 }) {
		r.idle = make(chan struct{})
	}
	for _, u := range r.units {
		if u.isBusy() {
			busy.Add(1)
		}
	}
	background := func(us []*unit) {
		for _, u := range us {
			workers <- struct{}{}
			started.Go(func() {
				defer func() { <-workers }()
				start(u)
				if u.isBusy() {
					busy.Done()
				}
			})
		}
	}
	if r.idle != nil {
		all.Go(func() { busy.Wait(); close(r.idle) })
	}
	var lanes, others, exclusive []*unit
	for _, u := range r.units {
		switch {
		case u.isLane():
			lanes = append(lanes, u)
		case u.exclusive:
			exclusive = append(exclusive, u)
		default:
			others = append(others, u)
		}
	}
	unused := r.unused(lanes)
	background(lanes)
	background(others)
	if r.probePass != nil {
		// The lanes continue the probe's conversations; when they are done,
		// the probe's slot is released.
		started.Wait()
		sharing.Wait()
		r.endAll(unused)
		r.probePass.leave()
	}
	background(exclusive)
	started.Wait()
	all.Wait()
}

// isBusy reports whether the run counts as busy until the unit is done. Waiting
// cases do not count, nor do exclusive ones, which start after the idle time.
func (u *unit) isBusy() bool {
	return !u.exclusive && (len(u.cases) == 0 || slices.ContainsFunc(u.cases, func(c *suite.Case) bool { return !c.Waits || c.SharesConversation }))
}

// unused returns the probe's conversations that no unit continues.
func (r *execution) unused(lanes []*unit) []*sharedConversation {
	var out []*sharedConversation
	for rev, s := range r.shared {
		if !slices.ContainsFunc(lanes, func(u *unit) bool { return u.revision == rev }) {
			out = append(out, s)
		}
	}
	return out
}
