package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// confirmation retries the deviations that an execution has found.
type confirmation struct {
	s       *session
	plan    *plan
	tally   *tally
	outlook *outlook
	run     func(context.Context, *unit) *unitResult // runs the unit of a retry to its end

	mu      sync.Mutex
	retried map[verdict.Key]*candidate // the candidates that a retry has claimed

	tryTwice sync.Once
	runTwice bool // the result of canRunTwice
}

func newConfirmation(x *execution) *confirmation {
	return &confirmation{
		s: x.s, plan: x.plan, tally: x.tally, outlook: x.outlook, run: x.rerun, retried: map[verdict.Key]*candidate{},
	}
}

// An attempt is a group of candidates that one retry can reproduce.
type attempt struct {
	revision   spec.Revision
	during     *suite.Case
	candidates []*candidate
}

// groupAttempts groups the candidates by the case and revision that must run again, in the order of
// the candidates. It leaves out notes, which are not retried.
func groupAttempts(candidates []*candidate) []*attempt {
	var out []*attempt
	groups := map[instance]*attempt{}
	for _, c := range candidates {
		if c.outcome <= verdict.Note {
			continue
		}
		key := instance{"", c.from.unit.revision}
		if c.during != nil {
			key.judge = c.during.ID
		}
		if groups[key] == nil {
			groups[key] = &attempt{revision: c.from.unit.revision, during: c.during}
			out = append(out, groups[key])
		}
		groups[key].candidates = append(groups[key].candidates, c)
	}
	return out
}

// claimForRetry returns those of the candidates that no retry has claimed yet, and claims them.
func (r *confirmation) claimForRetry(candidates []*candidate) []*candidate {
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

// confirmEarly retries those candidates of a unit that can be retried while other units run. The
// retries run in goroutines of wg. If no fresh process can be started, confirmEarly retries
// nothing.
func (r *confirmation) confirmEarly(ctx context.Context, result *unitResult, wg *sync.WaitGroup) {
	var claimed []*attempt
	seen := groupAttempts(result.candidates(r.s.transport()))
	r.tally.countSeen(r.s.o.Progress, seen)
	for _, a := range seen {
		if a.needsExclusiveRun() || r.s.hasSingleProcess() {
			r.outlook.expectRetry(a, true)
			continue
		}
		if a.candidates = r.claimForRetry(a.candidates); len(a.candidates) > 0 {
			claimed = append(claimed, a)
			r.outlook.expectRetry(a, false)
		}
	}
	retryEach := func() {
		for _, a := range claimed {
			wg.Go(func() { r.retry(ctx, a, false) })
		}
	}
	if result.unit.sharesConversation && len(claimed) > 1 {
		wg.Go(func() { r.retryTogether(ctx, claimed); retryEach() })
	} else {
		retryEach()
	}
}

// retryTogether retries the candidates of several attempts once, in one unit. They come from a unit
// whose cases share a conversation or servers.
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
	r.retryUnit(ctx, candidates[0].from.unit.rerunUnit(cases, false, newRetry(candidates, nil, nil)))
}

// confirm returns all candidates of a finished plan, with equal ones merged. Before that it retries
// those that are more severe than a note and have not been retried yet: one at a time, with no
// other server running. Candidates that have not recurred are then retried in other cases and among
// their peers (see confirmAmongPeers).
func (r *confirmation) confirm(ctx context.Context, results []*unitResult) []*candidate {
	found := candidatesOf(results, r.s.transport())
	var open []*attempt
	for _, a := range groupAttempts(found) {
		if a.candidates = r.claimForRetry(a.candidates); len(a.candidates) > 0 {
			open = append(open, a)
		}
	}
	r.outlook.replaceRetries(open)
	for _, a := range open {
		r.retry(ctx, a, true)
	}
	for i, c := range found {
		if same := r.retried[c.key]; same != nil {
			found[i] = same // this one has the results of the retries
		}
	}
	r.confirmInOtherCases(ctx, results, found)
	r.confirmAmongPeers(ctx, found)
	return found
}

// needsExclusiveRun reports whether no other server may run during the attempt, because a candidate
// may be reported as broken, or because the case depends on timing and always runs alone.
func (a *attempt) needsExclusiveRun() bool {
	return a.worstOutcome() == verdict.Broken || a.during != nil && a.during.Exclusive
}

func (a *attempt) worstOutcome() verdict.Outcome {
	worst := verdict.Note
	for _, c := range a.candidates {
		worst = max(worst, c.outcome)
	}
	return worst
}

// retry runs the attempt until each candidate has recurred or was retried often enough. If alone is
// set, no other server runs meanwhile.
func (r *confirmation) retry(ctx context.Context, a *attempt, alone bool) {
	defer r.outlook.beginRetry(a)()
	for _, c := range a.candidates {
		r.applyDiscount(c)
	}
	r.retryUntilDone(ctx, a, alone, nil)
	for _, c := range a.candidates {
		c.outcome = c.retries.Conclude(c.outcome)
	}
	if a.during == nil {
		r.narrowCommands(ctx, a, alone)
	}
}

// narrowCommands finds out which candidates recur with only the cases that judge or provoke their
// requirement (see suite.Case). A deviation at the end of a conversation is retried with all cases
// of the conversation, but often a few of the cases show it as well, and the user can repeat these
// few faster. Such a run is no retry: it changes no outcome.
func (r *confirmation) narrowCommands(ctx context.Context, a *attempt, alone bool) {
	for _, c := range a.candidates {
		if !c.needsOthers || c.precedesCases() || ctx.Err() != nil {
			continue
		}
		origin := c.from.unit
		cases := slices.DeleteFunc(slices.Clone(origin.cases), func(k *suite.Case) bool {
			return !slices.Contains(k.Requirements, c.Requirement) && !k.ProvokesID(c.Requirement)
		})
		if len(cases) == len(origin.cases) {
			continue
		}
		result := r.run(ctx, origin.rerunUnit(cases, alone, newRetry([]*candidate{c}, nil, nil)))
		if ctx.Err() == nil && slices.ContainsFunc(result.candidates(r.s.transport()), func(again *candidate) bool { return again.key == c.key }) {
			c.needsOthers = false
		}
		result.dropRecords()
	}
}

// retryUntilDone runs the attempt until the retries of all its candidates are done. d is the dialer
// that the retries share with their peers, or nil if there are no peers.
func (r *confirmation) retryUntilDone(ctx context.Context, a *attempt, alone bool, d transport.Dialer) {
	for ctx.Err() == nil {
		open := slices.DeleteFunc(slices.Clone(a.candidates), func(c *candidate) bool { return c.retries.Done() })
		if len(open) == 0 {
			return
		}
		isLast := d == nil && isLastChance(open)
		u := a.unit(isLast, alone, newRetry(open, a.during, d))
		missing := slices.DeleteFunc(slices.Clone(open), func(c *candidate) bool { return c.retries.Reproduced > 0 })
		r.retryUnit(ctx, u)
		for _, c := range missing {
			c.needsOthers = len(u.cases) > 1 && c.retries.Reproduced > 0
		}
	}
}

// newRetry returns the next retry of the candidates. during is the case in which they were seen, or
// nil; d is the dialer that the retry shares with its peers, or nil if there are no peers.
func newRetry(candidates []*candidate, during *suite.Case, d transport.Dialer) *rerun {
	return &rerun{number: candidates[0].retries.Attempts + 1, candidates: candidates, during: during, dialer: d}
}

// applyDiscount determines, once for each candidate, whether a discount requires that each retry
// reproduces it.
func (r *confirmation) applyDiscount(c *candidate) {
	if c.isDiscounted {
		return
	}
	c.isDiscounted = true
	claim := &discount.Claim{Requirement: c.Requirement, Outcome: c.outcome, At: c.At}
	if c.record != nil {
		claim.Events = c.record.From(0)
	}
	for _, record := range c.from.records() {
		claim.Conversations = append(claim.Conversations, record.From(0))
	}
	effect, _ := r.s.discounts.Discount(claim)
	c.retries.EachTime = effect == discount.EachTime
}

// retryUnit runs the unit of a retry, and records for each candidate whether it recurred.
func (r *confirmation) retryUnit(ctx context.Context, u *unit) {
	result := r.run(ctx, u)
	defer result.dropRecords()
	if ctx.Err() != nil {
		return // the interruption may have caused the deviations
	}
	back := map[verdict.Key]bool{}
	for _, c := range result.candidates(r.s.transport()) {
		if c.record != nil && discount.MayBeSecondCopy(c.record.From(0)) && ranWithOthers(c.record, result.conversations) && !r.canRunTwice(ctx, u.revision) {
			continue // the retry itself ran two copies of the server
		}
		back[c.key] = true
	}
	for _, c := range u.rerun.candidates {
		if !back[c.key] && result.hasFailedStart && !c.from.hasFailedStart { // when the candidate was first seen, all servers started
			c.retries.Void++
		} else {
			c.retries.Record(back[c.key])
		}
	}
}

// canRunTwice reports whether two copies of the server can run at once. The first call tries it,
// unless the probe has shown that they cannot.
func (r *confirmation) canRunTwice(ctx context.Context, rev spec.Revision) bool {
	r.tryTwice.Do(func() {
		if r.s.gate.isSingle {
			return
		}
		pass := r.s.gate.enter(false, len(r.plan.units)) // no copy may run next to an exclusive unit
		defer pass.leave()
		defer pass.finishWork()
		p := newProber(r.s)
		first := p.openRevision(ctx, rev, r.s.restartTimeout(), nil)
		r.runTwice = !first.isUnanswered() && p.whyNoSecondCopy(ctx, first) == "" && ctx.Err() == nil
		r.s.endProbed(first)
	})
	return r.runTwice
}

// ranWithOthers reports whether the server of another conversation ran at the same time as the
// server of the record.
func ranWithOthers(record *transcript.Transcript, conversations []*client.Conversation) bool {
	ended := endTime(record)
	return slices.ContainsFunc(conversations, func(other *client.Conversation) bool {
		return other.Record != record && !other.Record.StartTime().After(ended) && !endTime(other.Record).Before(record.StartTime())
	})
}

// endTime returns when the record's server exited, or the present time if that is unknown.
func endTime(record *transcript.Transcript) time.Time {
	for _, e := range record.From(0) {
		if e.Kind == transcript.Exited {
			return record.StartTime().Add(e.At)
		}
	}
	return time.Now()
}

// isLastChance reports whether the next retry is the last, and some candidate has not recurred yet.
func isLastChance(candidates []*candidate) bool {
	return candidates[0].retries.Attempts == verdict.MaxAttempts-1 &&
		slices.ContainsFunc(candidates, func(c *candidate) bool { return c.retries.Reproduced == 0 })
}

// unit returns the unit of a retry. Usually it has only the case of the attempt. If the case shared
// a conversation, the unit first takes the inventory, because rules compare later messages with the
// lists. If last is set, because this is the last retry, or if no case was running, the unit has
// all cases that shared the conversation or servers. why becomes the unit's rerun.
func (a *attempt) unit(last, exclusive bool, why *rerun) *unit {
	origin := a.candidates[0].from.unit
	switch {
	case !origin.sharesConversation, a.during != nil && !a.during.SharesConversation && !last:
		return &unit{revision: a.revision, cases: []*suite.Case{a.during}, exclusive: exclusive, rerun: why}
	case a.during == nil || last:
		return origin.rerunUnit(origin.cases, exclusive, why)
	default:
		return origin.rerunUnit([]*suite.Case{a.during}, exclusive, why)
	}
}
