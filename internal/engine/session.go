package engine

import (
	"time"

	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// session holds what is shared by those stages of a run that connect to the server.
type session struct {
	o       Options
	started time.Time
	gate    *gate
	*connector
	*ender
	*ruleJudge
	limit   *timeLimit
	timing  *timing
	counts  *counts
	notices *notices
	watch   *watch

	discounts *discount.Run
	fixtures  inventory.FixtureOutcomes
}

func newSession(o Options) *session {
	w := newWatch(o.Discounts)
	o.Progress = &watchedProgress{o.Progress, w}
	limit, over, c := newTimeLimit(), o.Dialer.Transport(), &counts{}
	r := &session{
		o: o, started: time.Now(), gate: newGate(o.Jobs, maxAlive(o.Jobs, over, false)),
		connector: &connector{dialer: o.Dialer, budget: transcript.NewBudget(), starts: &c.starts},
		ruleJudge: &ruleJudge{rules: o.Rules, over: over, limit: limit},
		limit:     limit, timing: newTiming(over), counts: c, notices: &notices{progress: o.Progress}, watch: w,
		discounts: o.Discounts, fixtures: inventory.NewFixtureOutcomes(o.Policy.Fixtures),
	}
	r.gate.budget = r.budget
	r.ender = newEnder(r)
	return r
}
