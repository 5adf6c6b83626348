package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// caseTime limits the time of a case, not counting the starts of its servers and the delays of a
// rate limit. With a server that responds, every case needs far less.
const caseTime = 90 * time.Second

// errCaseTime is the cancellation cause of a case that exceeds caseTime.
var errCaseTime = errors.New("the case took too long")

// runCase runs one case and returns its observations. If the case panics, that is a harness error.
// If the time for judging (see timeLimit) ends before the case does, all its observations are
// dropped and its requirements count as not observed.
func (r *execution) runCase(ctx context.Context, c *suite.Case, env suite.Env, o *opener) []suite.Observation {
	defer r.outlook.begin(c, env.Revision)()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o.clock = newCaseClock(caseTime, o.heldTime, func() { cancel(errCaseTime) })
	defer o.clock.stop()
	t := suite.NewT(c, env)
	done := make(chan suite.Stop, 1)
	finished := verdict.Kept
	go func() {
		stop := suite.Stop{Outcome: verdict.NotObserved, Reason: nothingShown, Gap: verdict.NothingSaid}
		defer func() {
			switch p := recover().(type) {
			case nil:
			case suite.Stop:
				stop, finished = p, p.Outcome
			default:
				finished = verdict.HarnessError
				stop = suite.Stop{Outcome: verdict.HarnessError, Reason: fmt.Sprintf("the case %s failed: %v", c.ID, p)}
			}
			done <- stop
		}()
		c.Run(ctx, t)
	}()
	var stop suite.Stop
	select {
	case stop = <-done:
	case <-r.s.limit.judging.Done(): // the process exits soon, which ends the case's goroutine
		return withMissingObservations(c, nil, suite.Stop{Outcome: verdict.NotObserved, Reason: whyEnded(r.s.limit.run)})
	}
	reason := whyEnded(ctx)
	if reason == "" {
		r.finished.add(c, env.Revision, finished, t.MissingSettings())
	} else if stop.Outcome != verdict.HarnessError {
		stop = suite.Stop{Outcome: verdict.NotObserved, Reason: reason}
	}
	return withMissingObservations(c, r.dropDiscounted(c, t.Observations()), stop)
}

// dropDiscounted replaces the deviations that a discount voids with observations "not observed".
func (r *execution) dropDiscounted(c *suite.Case, observations []suite.Observation) []suite.Observation {
	for i := range observations {
		s := &observations[i]
		if s.Deviation == nil || s.Record == nil {
			continue
		}
		claim := &discount.Claim{Requirement: s.Requirement, Events: s.Record.From(0), At: s.Deviation.At, ByCase: true, SessionEnded: s.SessionEnded, StartUnclear: s.StartUnclear}
		claim.From = caseStart(c, claim.Events)
		if effect, reason := r.s.discounts.Discount(claim); effect == discount.Void {
			observations[i] = suite.Observation{Requirement: s.Requirement, Outcome: verdict.NotObserved, Reason: reason}
		}
	}
	return observations
}

// withMissingObservations adds an observation that says why the case stopped, for each of the
// case's requirements that has no observation. After a harness error it adds one for every
// requirement.
func withMissingObservations(c *suite.Case, observations []suite.Observation, stop suite.Stop) []suite.Observation {
	for _, id := range c.Requirements {
		mentioned := false
		for _, o := range observations {
			mentioned = mentioned || o.Requirement == id
		}
		if !mentioned || stop.Outcome == verdict.HarnessError {
			observations = append(observations, suite.Observation{Requirement: id, Outcome: stop.Outcome, Reason: stop.Reason, Gap: stop.Gap})
		}
	}
	return observations
}
