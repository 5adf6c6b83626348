package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// An execution runs the units of a plan, which then hold the observations of their cases
// and rules.
type execution struct {
	s        *session
	offer    *offer
	plan     *plan
	open     *openConversations
	tally    *tally
	finished *finishedCases
	outlook  *outlook
	idle     chan struct{} // see suite.Env; nil unless cases share a conversation
}

// newExecution returns the execution of a plan. Nothing has run yet.
func newExecution(s *session, offered *offer, p *plan, open *openConversations) *execution {
	return &execution{s: s, offer: offered, plan: p, open: open, tally: newTally(p.areas), finished: newFinishedCases(), outlook: newOutlook()}
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
				shared = r.open.byRevision[u.revision]
			}
		}
		after := func() {
			if u.isLane() {
				sharing.Done()
			}
			r.repeat(ctx, u, func() {
				if !r.s.o.Unconfirmed {
					confirm(ctx, u, &all)
				}
				all.Done()
			})
		}
		if ctx.Err() != nil {
			if shared != nil {
				r.s.endShared(shared)
			}
			after()
			return
		}
		u.run(ctx, r, shared, func(c *suite.Case) { r.reportDone(u, c) }, after)
	}
	workers := make(chan struct{}, r.s.gate.most)
	var started, busy sync.WaitGroup
	if slices.ContainsFunc(r.plan.units, func(u *unit) bool { return u.sharesConversation && len(u.cases) > 0 }) {
		r.idle = make(chan struct{})
	}
	for _, u := range r.plan.units {
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
	for _, u := range r.plan.units {
		switch {
		case u.isLane():
			lanes = append(lanes, u)
		case u.exclusive:
			exclusive = append(exclusive, u)
		default:
			others = append(others, u)
		}
	}
	unused := r.open.unused(lanes)
	background(lanes)
	background(others)
	if r.open.pass != nil {
		// The lanes continue the probe's conversations; when they are done,
		// the probe's slot is released.
		started.Wait()
		sharing.Wait()
		r.s.endShared(unused...)
		r.open.pass.leave()
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
