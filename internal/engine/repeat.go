package engine

import (
	"context"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// isDisturbed reports whether a process that the unit's conversations share with other units has
// exited by itself. Another unit may then have caused the exit.
func (o *opener) isDisturbed() bool {
	if _, shares := o.dialer.(transport.Sharer); !shares || o.dialer != o.s.dialer {
		return false
	}
	return slices.ContainsFunc(o.conversations(), func(c *client.Conversation) bool { return transcript.HasExited(c.Record.From(0)) })
}

// repeatIfDisturbed runs a unit again, on its own process, if other units may have caused what its
// first run has shown. It calls done with the result that can be judged. unreported holds the cases
// whose end was not yet reported to Progress.
func (r *execution) repeatIfDisturbed(ctx context.Context, first *unitResult, unreported []*suite.Case, done func(*unitResult)) {
	u := first.unit
	if !r.s.discounts.Voids(&discount.Claim{Disturbed: first.isDisturbed}) {
		r.s.discounts.SettleShared(u, false)
		done(first)
		return
	}
	if ctx.Err() != nil {
		r.s.discounts.SettleShared(u, false)
		done(first.withoutObservations())
		return
	}
	again := &unitRun{execution: r, unit: u.rerunUnit(u.cases, u.exclusive || r.s.hasSingleProcess(), &rerun{}), done: func(c *suite.Case, _ bool) {
		if slices.Contains(unreported, c) {
			r.reportDone(c)
		}
	}}
	go again.run(ctx, func(result *unitResult) {
		first.dropRecords()
		r.s.discounts.SettleShared(u, result.hasExited)
		r.s.stopAfterExits()
		done(result.asResultOf(u))
	})
}

// reportDone reports to Progress that a case is done.
func (r *execution) reportDone(c *suite.Case) {
	r.tally.countDone(r.s.o.Progress, c.Area(), r.s.limit.isOver())
}
