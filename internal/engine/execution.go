package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// An execution runs the units of a plan.
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

// newExecution returns the execution of a plan, before any unit has run.
func newExecution(s *session, offered *offer, p *plan, open *openConversations) *execution {
	return &execution{s: s, offer: offered, plan: p, open: open, tally: newTally(p.areas), finished: newFinishedCases(), outlook: newOutlook()}
}

// runUnits runs all units, waits until their servers have ended, and returns the result of each
// unit. Unless retries are skipped, it calls confirm with each result, and also waits for the
// goroutines that confirm starts.
func (r *execution) runUnits(ctx context.Context, confirm func(context.Context, *unitResult, *sync.WaitGroup)) []*unitResult {
	lanes, others, exclusive := r.plan.startOrder()
	unused := r.open.unused(r.plan.units)
	w := &unitRunner{execution: r, confirm: confirm, results: make([]*unitResult, len(r.plan.units)), slots: make(chan struct{}, r.s.gate.maxAlive)}
	if slices.ContainsFunc(r.plan.units, func(u *unit) bool { return u.sharesConversation && len(u.cases) > 0 }) {
		w.startIdleSignal()
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
	return w.results
}

// startOrder returns the positions in p.units of three groups of units, in the order in which the
// groups are started: lanes, other units, and exclusive units, which run when no other unit does.
func (p *plan) startOrder() (lanes, others, exclusive []int) {
	for i, u := range p.units {
		switch {
		case u.isLane():
			lanes = append(lanes, i)
		case u.exclusive:
			exclusive = append(exclusive, i)
		default:
			others = append(others, i)
		}
	}
	return lanes, others, exclusive
}

// A unitRunner runs units in goroutines. The number of slots limits how many run at the same time.
type unitRunner struct {
	*execution
	confirm func(context.Context, *unitResult, *sync.WaitGroup)
	results []*unitResult // by the position of the unit in the plan
	slots   chan struct{}
	started sync.WaitGroup // units whose cases run
	busy    sync.WaitGroup // busy units whose cases have not ended, see isBusy
	sharing sync.WaitGroup // units that continue a conversation, until it has ended
	all     sync.WaitGroup // units, until they are confirmed, and the goroutines that confirm started
}

// startIdleSignal creates the channel idle, which is closed when the cases of all busy units have
// ended.
func (w *unitRunner) startIdleSignal() {
	w.idle = make(chan struct{})
	for _, u := range w.plan.units {
		if u.isBusy() {
			w.busy.Add(1)
		}
	}
	w.all.Go(func() { w.busy.Wait(); close(w.idle) })
}

// startAll starts the units at the given positions in order. It returns when the last one has got a
// slot.
func (w *unitRunner) startAll(ctx context.Context, positions []int) {
	for _, i := range positions {
		w.slots <- struct{}{}
		w.started.Go(func() {
			defer func() { <-w.slots }()
			w.start(ctx, i)
			if w.idle != nil && w.plan.units[i].isBusy() {
				w.busy.Done()
			}
		})
	}
}

// start runs a unit until its cases are done; its servers may end later. If the run was
// interrupted, start only ends the conversation that the unit would have continued.
func (w *unitRunner) start(ctx context.Context, position int) {
	u := w.plan.units[position]
	w.all.Add(1)
	var shared *sharedConversation
	if u.isLane() {
		w.sharing.Add(1)
		if shared = u.conversation; shared == nil {
			shared = w.open.byRevision[u.revision]
		}
	}
	if ctx.Err() != nil {
		if shared != nil {
			w.s.endShared(shared)
		}
		w.finish(ctx, position, &unitResult{unit: u}, nil)
		return
	}
	var unreported []*suite.Case // the cases that may run again
	run := &unitRun{execution: w.execution, unit: u, rank: position, shared: shared, done: func(c *suite.Case, isDisturbed bool) {
		if isDisturbed {
			unreported = append(unreported, c)
		} else {
			w.reportDone(c)
		}
	}}
	run.run(ctx, func(result *unitResult) { w.finish(ctx, position, result, unreported) })
}

// finish runs a unit again if another unit disturbed it, and then calls confirm with the result,
// unless retries are skipped. Call it when the servers of the unit have ended.
func (w *unitRunner) finish(ctx context.Context, position int, first *unitResult, unreported []*suite.Case) {
	if first.unit.isLane() {
		w.sharing.Done()
	}
	w.repeatIfDisturbed(ctx, first, unreported, func(result *unitResult) {
		w.results[position] = result
		if !w.s.o.Unconfirmed {
			w.confirm(ctx, result, &w.all)
		}
		w.all.Done()
	})
}
