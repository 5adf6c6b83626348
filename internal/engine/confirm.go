package engine

import (
	"context"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// maxTries bounds how often a finding that does not come back is tried.
const maxTries = 3

// attempt is a group of candidates that one rerun can show again.
type attempt struct {
	revision   spec.Revision
	during     *suite.Case
	candidates []*candidate
}

// collect gathers the candidates of all units, equal ones merged.
func (r *run) collect() []*candidate {
	seen := map[string]bool{}
	var out []*candidate
	for _, u := range r.units {
		for _, c := range u.candidates() {
			if !seen[c.key()] {
				seen[c.key()] = true
				out = append(out, c)
			}
		}
	}
	return out
}

// confirm tries every candidate above a note again on a fresh server of its
// own; what may be called broken, with no other server alive.
func (r *run) confirm(ctx context.Context) {
	var quiet, alone []*attempt
	groups := map[instance]*attempt{}
	r.found = r.collect()
	for _, c := range r.found {
		if c.outcome <= verdict.Note {
			continue
		}
		key := instance{"", c.unit.revision}
		if c.during != nil {
			key.judge = c.during.ID
		}
		if groups[key] == nil {
			groups[key] = &attempt{revision: c.unit.revision, during: c.during}
		}
		groups[key].candidates = append(groups[key].candidates, c)
	}
	for _, c := range r.found { // in the order of the candidates, for the same run every time
		key := instance{"", c.unit.revision}
		if c.during != nil {
			key.judge = c.during.ID
		}
		a := groups[key]
		if a == nil {
			continue
		}
		delete(groups, key)
		if a.heaviest() == verdict.Broken || a.during != nil && a.during.Exclusive {
			alone = append(alone, a)
		} else {
			quiet = append(quiet, a)
		}
	}
	workers := make(chan struct{}, cap(r.gate.live))
	var wg sync.WaitGroup
	for _, a := range quiet {
		workers <- struct{}{}
		wg.Go(func() { defer func() { <-workers }(); r.try(ctx, a, false) })
	}
	wg.Wait()
	for _, a := range alone {
		r.try(ctx, a, true)
	}
}

func (a *attempt) heaviest() verdict.Outcome {
	worst := verdict.Note
	for _, c := range a.candidates {
		worst = max(worst, c.outcome)
	}
	return worst
}

// try runs the attempt until each candidate came back, or was tried enough.
func (r *run) try(ctx context.Context, a *attempt, alone bool) {
	for i := 0; i < maxTries && ctx.Err() == nil; i++ {
		open := false
		for _, c := range a.candidates {
			open = open || c.again == 0
		}
		if !open {
			break
		}
		u := a.unit(i == maxTries-1)
		u.alone = alone
		done := make(chan struct{})
		u.run(ctx, r, nil, func(*suite.Case) {}, func() { close(done) })
		<-done
		back := map[string]bool{}
		for _, c := range u.candidates() {
			back[c.key()] = true
		}
		for _, c := range a.candidates {
			if c.again > 0 {
				continue
			}
			c.tries++
			if back[c.key()] {
				c.again++
			}
		}
	}
	for _, c := range a.candidates {
		if c.again == 0 {
			c.outcome = verdict.Flaky
		}
	}
}

// unit returns what is run again: the case by itself, or, in the last try of
// a case that shared a conversation, all that shared it.
func (a *attempt) unit(last bool) *unit {
	origin := a.candidates[0].unit
	switch {
	case !origin.shares:
		return &unit{revision: a.revision, cases: []*suite.Case{a.during}}
	case a.during == nil || last:
		return &unit{revision: a.revision, cases: origin.cases, shares: true}
	default:
		return &unit{revision: a.revision, cases: []*suite.Case{a.during}, shares: true}
	}
}
