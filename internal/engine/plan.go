package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// plan makes units of the selected cases that apply.
func (r *run) plan(ctx context.Context) {
	r.settled = make(chan struct{})
	var waiting, own, exclusive []*unit
	for _, rev := range r.revisions {
		pairs := r.o.pairs(rev)
		shared := &unit{revision: rev, shares: true}
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
		for i := range r.o.Cases {
			c := &r.o.Cases[i]
			if !wanted[i] && !r.o.provokes(c, rev) || r.blocked(rev) != "" || r.missing(c, rev) != "" {
				continue
			}
			r.tally.add(r.area(c, rev))
			switch {
			case c.Asks:
				shared.cases = append(shared.cases, c)
			case c.Exclusive:
				exclusive = append(exclusive, &unit{revision: rev, cases: []*suite.Case{c}, alone: true})
			case c.Waits:
				waiting = append(waiting, &unit{revision: rev, cases: []*suite.Case{c}, own: c.Apart && !r.single()})
			default:
				own = append(own, &unit{revision: rev, cases: []*suite.Case{c}, own: c.Apart && !r.single()})
			}
		}
		if ruled || len(shared.cases) > 0 {
			r.units = append(r.units, r.lanes(ctx, shared)...)
		}
	}
	r.units = slices.Concat(r.units, waiting, own, exclusive)
}

// blocked returns why no case can be run in the revision, or "".
func (r *run) blocked(rev spec.Revision) string {
	if r.handshakeFails != "" {
		return r.handshakeFails
	}
	return r.deaf[rev]
}

// missing returns why the case does not apply to what the server offers.
func (r *run) missing(c *suite.Case, rev spec.Revision) string {
	for _, need := range c.Needs {
		if !r.stock[rev].Declares(need) {
			return "the server does not declare " + need
		}
	}
	return ""
}

// runUnits runs all units and waits until their servers are gone.
func (r *run) runUnits(ctx context.Context) {
	var all, sharing sync.WaitGroup
	start := func(u *unit) {
		all.Add(1)
		var shared *sharedConversation
		if u.shares {
			sharing.Add(1)
			if shared = u.begun; shared == nil {
				shared = r.shared[u.revision]
			}
		}
		after := func() {
			if u.shares {
				sharing.Done()
			}
			r.repeat(ctx, u, func() {
				if !r.o.Unconfirmed {
					r.confirmEarly(ctx, u, &all)
				}
				all.Done()
			})
		}
		if ctx.Err() != nil {
			if u.begun != nil {
				r.endAll([]*sharedConversation{u.begun})
			}
			after()
			return
		}
		u.run(ctx, r, shared, func(c *suite.Case) { r.tell(u, c) }, after)
	}
	workers := make(chan struct{}, cap(r.gate.live))
	var started, busy sync.WaitGroup
	if slices.ContainsFunc(r.units, func(u *unit) bool { return u.shares && len(u.cases) > 0 }) {
		r.leisure = make(chan struct{})
	}
	for _, u := range r.units {
		if u.busy() {
			busy.Add(1)
		}
	}
	background := func(us []*unit) {
		for _, u := range us {
			workers <- struct{}{}
			started.Go(func() {
				defer func() { <-workers }()
				start(u)
				if u.busy() {
					busy.Done()
				}
			})
		}
	}
	if r.leisure != nil {
		all.Go(func() { busy.Wait(); close(r.leisure) })
	}
	var sharingUnits, others, exclusive []*unit
	for _, u := range r.units {
		switch {
		case u.shares:
			sharingUnits = append(sharingUnits, u)
		case u.alone:
			exclusive = append(exclusive, u)
		default:
			others = append(others, u)
		}
	}
	unused := r.unused(sharingUnits)
	background(sharingUnits)
	background(others)
	if r.probePass != nil {
		// The probe's conversations live on in the sharing units; when those
		// are done, the right to have them ends.
		started.Wait()
		sharing.Wait()
		r.endAll(unused)
		r.probePass.leave()
	}
	background(exclusive)
	started.Wait()
	all.Wait()
}

// busy tells whether the unit belongs to those after which there is leisure:
// what waits does not, nor does what wants to be alone, for it begins when
// that is over.
func (u *unit) busy() bool {
	return !u.alone && !slices.ContainsFunc(u.cases, func(c *suite.Case) bool { return c.Waits && !c.Asks })
}

// unused returns the probe's conversations that no unit goes on with.
func (r *run) unused(sharing []*unit) []*sharedConversation {
	var out []*sharedConversation
	for rev, s := range r.shared {
		if !slices.ContainsFunc(sharing, func(u *unit) bool { return u.revision == rev }) {
			out = append(out, s)
		}
	}
	return out
}

func (r *run) endAll(shared []*sharedConversation) {
	for _, s := range shared {
		if s.conv != nil {
			r.end(s.conv, probing, false)
		}
	}
}

// closeShared ends what the probe left open.
func (r *run) closeShared() {
	for _, s := range r.shared {
		r.endAll([]*sharedConversation{s})
	}
	if r.probePass != nil {
		r.probePass.leave()
	}
}

// tally counts cases an area for the progress.
type tally struct {
	mu    sync.Mutex
	areas map[string]*areaTally
}

type areaTally struct{ done, total int }

func (t *tally) add(area string) {
	if t.areas == nil {
		t.areas = map[string]*areaTally{}
	}
	if t.areas[area] == nil {
		t.areas[area] = &areaTally{}
	}
	t.areas[area].total++
}

func (t *tally) total() int {
	n := 0
	for _, a := range t.areas {
		n += a.total
	}
	return n
}

func (t *tally) done(p Progress, area string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.areas[area]
	a.done++
	p.Area(area, a.done, a.total)
}
