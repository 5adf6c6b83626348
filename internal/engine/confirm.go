package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// confirmation retries the deviations that an execution has found.
type confirmation struct {
	s       *session
	plan    *plan // its units have run
	tally   *tally
	outlook *outlook
	run     func(context.Context, *unit) // runs the unit of a retry to its end
	found   []*candidate                 // all deviations, equal ones merged

	mu      sync.Mutex
	retried map[verdict.Key]*candidate // those that are being retried, or were
}

func newConfirmation(x *execution) *confirmation {
	return &confirmation{
		s: x.s, plan: x.plan, tally: x.tally, outlook: x.outlook, retried: map[verdict.Key]*candidate{},
		run: func(ctx context.Context, u *unit) { u.runToEnd(ctx, x) },
	}
}

// An attempt is a group of candidates that one retry can reproduce.
type attempt struct {
	revision   spec.Revision
	during     *suite.Case
	candidates []*candidate
}

// attempts groups the candidates by the case and revision that must run again,
// in order. Notes are not retried.
func attempts(candidates []*candidate) []*attempt {
	var out []*attempt
	groups := map[instance]*attempt{}
	for _, c := range candidates {
		if c.outcome <= verdict.Note {
			continue
		}
		key := instance{"", c.unit.revision}
		if c.during != nil {
			key.judge = c.during.ID
		}
		if groups[key] == nil {
			groups[key] = &attempt{revision: c.unit.revision, during: c.during}
			out = append(out, groups[key])
		}
		groups[key].candidates = append(groups[key].candidates, c)
	}
	return out
}

// claim returns the candidates that no retry has claimed yet, and claims them.
func (r *confirmation) claim(candidates []*candidate) []*candidate {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*candidate
	for _, c := range candidates {
		if r.retried[c.key] == nil {
			r.retried[c.key] = c
			out = append(out, c)
		}
	}
	return out
}

// confirmEarly retries, during the run, the candidates of unit u that can be
// warnings at most.
func (r *confirmation) confirmEarly(ctx context.Context, u *unit, wg *sync.WaitGroup) {
	var claimed []*attempt
	seen := attempts(u.candidates(r.s.transport()))
	r.tally.countSeen(r.s.o.Progress, seen)
	for _, a := range seen {
		if a.needsExclusiveRun() || r.s.hasSingleProcess() {
			r.outlook.expectRetry(a, true)
			continue
		}
		if a.candidates = r.claim(a.candidates); len(a.candidates) > 0 {
			claimed = append(claimed, a)
			r.outlook.expectRetry(a, false)
		}
	}
	each := func() {
		for _, a := range claimed {
			wg.Go(func() { r.retry(ctx, a, false) })
		}
	}
	if u.sharesConversation && len(claimed) > 1 {
		wg.Go(func() { r.retryTogether(ctx, claimed); each() })
	} else {
		each()
	}
}

// retryTogether retries once, in one unit, the candidates of a unit whose cases share
// a conversation or servers.
func (r *confirmation) retryTogether(ctx context.Context, attempts []*attempt) {
	if ctx.Err() != nil {
		return
	}
	var cases []*suite.Case
	var candidates []*candidate
	for _, a := range attempts {
		if a.during != nil {
			cases = append(cases, a.during)
		}
		candidates = append(candidates, a.candidates...)
	}
	r.retryUnit(ctx, candidates[0].unit.withCases(cases), candidates)
}

// confirm collects all candidates in r.found. It retries those above a note that were not retried
// yet, one at a time and with no other server running.
func (r *confirmation) confirm(ctx context.Context) {
	r.found = r.plan.collect(r.s.transport())
	var open []*attempt
	for _, a := range attempts(r.found) {
		if a.candidates = r.claim(a.candidates); len(a.candidates) > 0 {
			open = append(open, a)
		}
	}
	r.outlook.replaceRetries(open)
	for _, a := range open {
		r.retry(ctx, a, true)
	}
	for i, c := range r.found {
		if same := r.retried[c.key]; same != nil {
			r.found[i] = same // it has the results of the retries
		}
	}
	r.confirmElsewhere(ctx)
	r.confirmAmongPeers(ctx)
}

// needsExclusiveRun reports whether a candidate of the attempt may be reported
// as broken, or depends on timing.
func (a *attempt) needsExclusiveRun() bool {
	return a.maxSevere() == verdict.Broken || a.during != nil && a.during.Exclusive
}

func (a *attempt) maxSevere() verdict.Outcome {
	worst := verdict.Note
	for _, c := range a.candidates {
		worst = max(worst, c.outcome)
	}
	return worst
}

// retry runs the attempt until each candidate has recurred or was retried often
// enough.
func (r *confirmation) retry(ctx context.Context, a *attempt, alone bool) {
	defer r.outlook.beginRetry(a)()
	for _, c := range a.candidates {
		r.applyDiscount(c)
	}
	for ctx.Err() == nil {
		open := slices.DeleteFunc(slices.Clone(a.candidates), func(c *candidate) bool { return c.retries.Done() })
		if len(open) == 0 {
			break
		}
		u := a.unit(isLastChance(open))
		u.exclusive, u.retriedCase = alone, a.during
		r.retryUnit(ctx, u, open)
	}
	for _, c := range a.candidates {
		c.outcome = c.retries.Conclude(c.outcome)
	}
}

// applyDiscount determines, once, whether a discount requires that the candidate recurs in each
// retry.
func (r *confirmation) applyDiscount(c *candidate) {
	if c.isDiscounted {
		return
	}
	c.isDiscounted = true
	claim := &discount.Claim{Requirement: c.Requirement, Outcome: c.outcome, At: c.At}
	if c.record != nil {
		claim.Events = c.record.From(0)
	}
	for _, record := range c.unit.records() {
		claim.Conversations = append(claim.Conversations, record.From(0))
	}
	effect, _ := r.s.discounts.Discount(claim)
	c.retries.EachTime = effect == discount.EachTime
}

// retryUnit runs the unit, and counts which of the candidates recur.
func (r *confirmation) retryUnit(ctx context.Context, u *unit, candidates []*candidate) {
	u.repeats, u.retrying, u.rank = candidates[0].retries.Attempts+1, candidates, len(r.plan.units)
	r.run(ctx, u)
	defer u.dropRecords()
	if ctx.Err() != nil {
		return // the interruption may have caused what was seen
	}
	back := map[verdict.Key]bool{}
	for _, c := range u.candidates(r.s.transport()) {
		back[c.key] = true
	}
	for _, c := range candidates {
		if !back[c.key] && u.hasFailedStart && !c.unit.hasFailedStart { // when it was first seen, all servers started
			c.retries.Void++
		} else {
			c.retries.Record(back[c.key])
		}
	}
}

// isLastChance reports whether the next retry is the last, and a candidate has not recurred yet.
func isLastChance(candidates []*candidate) bool {
	return candidates[0].retries.Attempts == verdict.MaxAttempts-1 &&
		slices.ContainsFunc(candidates, func(c *candidate) bool { return c.retries.Reproduced == 0 })
}

// unit returns what a retry runs: the case alone, after taking the inventory if it shared
// a conversation, because rules compare later messages with the lists; or, at the last chance
// of a case that shared a conversation or servers, all cases that shared them.
func (a *attempt) unit(last bool) *unit {
	origin := a.candidates[0].unit
	switch {
	case !origin.sharesConversation, a.during != nil && !a.during.SharesConversation && !last:
		return &unit{revision: a.revision, cases: []*suite.Case{a.during}}
	case a.during == nil || last:
		return origin.withCases(origin.cases)
	default:
		return origin.withCases([]*suite.Case{a.during})
	}
}
