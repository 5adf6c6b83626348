package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// An execution runs the units of a plan and stores the observations of their cases and rules in
// them.
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
	lanes, others, exclusive := r.plan.inOrder()
	unused := r.open.unused(lanes)
	w := &unitRunner{execution: r, confirm: confirm, slots: make(chan struct{}, r.s.gate.maxAlive)}
	if slices.ContainsFunc(r.plan.units, func(u *unit) bool { return u.sharesConversation && len(u.cases) > 0 }) {
		w.announceIdle()
	}
	w.startAll(ctx, lanes)
	w.startAll(ctx, others)
	if r.open.pass != nil {
		// The lanes continue the probe's conversations; when they are done,
		// the probe's slot is released.
		w.started.Wait()
		w.sharing.Wait()
		r.s.endShared(unused...)
		r.open.pass.leave()
	}
	w.startAll(ctx, exclusive)
	w.started.Wait()
	w.all.Wait()
}

// inOrder returns the units in the order in which they are started: those that
// continue a conversation, those that open their own, and those that run alone.
func (p *plan) inOrder() (lanes, others, exclusive []*unit) {
	for _, u := range p.units {
		switch {
		case u.isLane():
			lanes = append(lanes, u)
		case u.exclusive:
			exclusive = append(exclusive, u)
		default:
			others = append(others, u)
		}
	}
	return lanes, others, exclusive
}

// A unitRunner runs units in goroutines, as many at the same time as it has slots.
type unitRunner struct {
	*execution
	confirm func(context.Context, *unit, *sync.WaitGroup)
	slots   chan struct{}
	started sync.WaitGroup // units whose cases run
	busy    sync.WaitGroup // busy units whose cases have not ended, see isBusy
	sharing sync.WaitGroup // units that continue a conversation, until it has ended
	all     sync.WaitGroup // units, until they are confirmed, and what confirm started
}

// announceIdle closes the channel idle when no busy unit is left.
func (w *unitRunner) announceIdle() {
	w.idle = make(chan struct{})
	for _, u := range w.plan.units {
		if u.isBusy() {
			w.busy.Add(1)
		}
	}
	w.all.Go(func() { w.busy.Wait(); close(w.idle) })
}

// startAll starts the units in order; it returns when the last one has a slot.
func (w *unitRunner) startAll(ctx context.Context, units []*unit) {
	for _, u := range units {
		w.slots <- struct{}{}
		w.started.Go(func() {
			defer func() { <-w.slots }()
			w.start(ctx, u)
			if w.idle != nil && u.isBusy() {
				w.busy.Done()
			}
		})
	}
}

// start runs a unit until its cases are done; its servers may end later. If the
// run was interrupted, it only ends the conversation that the unit would continue.
func (w *unitRunner) start(ctx context.Context, u *unit) {
	w.all.Add(1)
	var shared *sharedConversation
	if u.isLane() {
		w.sharing.Add(1)
		if shared = u.conversation; shared == nil {
			shared = w.open.byRevision[u.revision]
		}
	}
	if ctx.Err() == nil {
		u.run(ctx, w.execution, shared, func(c *suite.Case) { w.reportDone(u, c) }, func() { w.finish(ctx, u) })
		return
	}
	if shared != nil {
		w.s.endShared(shared)
	}
	w.finish(ctx, u)
}

// finish runs a unit again if another unit disturbed it, and then confirms its findings. The
// servers of the unit have ended.
func (w *unitRunner) finish(ctx context.Context, u *unit) {
	if u.isLane() {
		w.sharing.Done()
	}
	w.repeat(ctx, u, func() {
		if !w.s.o.Unconfirmed {
			w.confirm(ctx, u, &w.all)
		}
		w.all.Done()
	})
}

// isBusy reports whether the run is not idle until the unit is done. Cases that
// wait do not count, nor do exclusive ones, which start after the idle time.
func (u *unit) isBusy() bool {
	return !u.exclusive && (len(u.cases) == 0 || slices.ContainsFunc(u.cases, func(c *suite.Case) bool { return !c.Waits || c.SharesConversation }))
}
