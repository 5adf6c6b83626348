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

// dialer returns the dialer for the unit's conversations, and a function that
// stops the process that it started. If the run's conversations share a
// process, a retry gets a fresh one.
func (u *unit) dialer(s *session) (d transport.Dialer, stop func()) {
	if u.peerDialer != nil {
		return u.peerDialer, func() {}
	}
	if sharer, ok := s.o.Dialer.(transport.Sharer); ok && (u.ownProcess || u.repeats > 0) {
		d, stop := sharer.Fresh()
		return d, func() {
			stop()
			if own, ok := d.(transport.Sharer); ok {
				u.hasExited = len(own.Endings()) > 0
			}
		}
	}
	return s.o.Dialer, func() {}
}

// isDisturbed reports whether a process that the conversations share with other
// units exited by itself: another unit may have caused that.
func (o *opener) isDisturbed() bool {
	if _, shares := o.dialer.(transport.Sharer); !shares || o.dialer != o.s.o.Dialer {
		return false
	}
	return slices.ContainsFunc(o.conversations(), func(c *client.Conversation) bool { return transcript.HasExited(c.Record.From(0)) })
}

// repeat runs a unit again on its own process if other units may have caused its first
// observations. It calls done when the unit can be judged.
func (r *execution) repeat(ctx context.Context, u *unit, done func()) {
	if !r.s.discounts.Voids(&discount.Claim{Disturbed: u.isDisturbed}) {
		r.s.discounts.SettleShared(u, false)
		done()
		return
	}
	if ctx.Err() != nil {
		r.s.discounts.SettleShared(u, false)
		u.results.observations, u.results.ruleResults = nil, nil
		done()
		return
	}
	again := u.withCases(u.cases)
	again.ownProcess, again.exclusive = true, u.exclusive || r.s.hasSingleProcess()
	go again.run(ctx, r, nil, func(c *suite.Case) {
		if slices.Contains(u.unreported, c) {
			r.reportDone(again, c)
		}
	}, func() {
		u.dropRecords()
		u.results = again.results
		r.s.discounts.SettleShared(u, again.hasExited)
		r.s.stopAfterExits()
		done()
	})
}

// reportDone reports to the progress that a case is done, unless it will run
// again.
func (r *execution) reportDone(u *unit, c *suite.Case) {
	if u.isDisturbed {
		u.unreported = append(u.unreported, c)
		return
	}
	r.tally.done(r.s.o.Progress, c.Area(), r.s.time.Err() != nil)
}
