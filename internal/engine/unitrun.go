package engine

import (
	"context"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A unitRun runs a unit once.
type unitRun struct {
	*execution
	unit   *unit
	rank   int                 // if several units wait for a slot, the one with the lowest rank gets it
	shared *sharedConversation // the conversation to continue; nil to open one
	// done is called after each case. isDisturbed reports whether a process that the unit shares
	// with other units has exited.
	done func(c *suite.Case, isDisturbed bool)
}

// run runs the unit, and returns when its cases are done. Later, once all servers of the unit have
// ended and the rules have judged the conversations, it passes the result to the function after.
func (r *unitRun) run(ctx context.Context, after func(*unitResult)) {
	u := r.unit
	o, stop := r.open()
	if u.isPlanned() {
		r.s.discounts.BeginShared(u, o.records)
	}
	if u.beginsWithConversation() {
		conv, err := o.OpenShared(ctx) // rules and cases judge what an error here shows
		if err == nil && u.takesInventory() {
			inventory.Take(ctx, conv, r.s.o.Policy)
		}
	}
	observations := r.runCases(ctx, o)
	o.awaitQuiet(ctx)
	o.pass.finishWork()
	go func() { // the servers end while other units run
		result := r.end(o, stop, observations)
		o.pass.leave()
		after(result)
	}()
}

// open waits until the gate admits the unit, and returns the opener of its conversations. stop ends
// the unit's own process, if it has one, and reports whether the process had exited before.
func (r *unitRun) open() (o *opener, stop func() (exited bool)) {
	pass := r.s.gate.enter(r.unit.exclusive, r.rank)
	pace := &client.Pace{}
	if r.unit.isPlanned() {
		pace = r.s.timing.paces[r.unit.revision]
	}
	dialer, stop := r.dialer()
	o = newOpener(r.s, r.unit, pass, dialer, pace)
	if r.shared != nil {
		o.adopt(r.shared)
	}
	return o, stop
}

// dialer returns the dialer for the unit's conversations. stop ends the process that the dialer
// started, if any, and reports whether the process had exited before.
func (r *unitRun) dialer() (d transport.Dialer, stop func() (exited bool)) {
	none := func() bool { return false }
	if r.unit.rerun != nil && r.unit.rerun.dialer != nil {
		return r.unit.rerun.dialer, none
	}
	sharer, ok := r.s.dialer.(transport.Sharer)
	if !ok || r.unit.isPlanned() {
		return r.s.dialer, none
	}
	d, end := sharer.FreshDialer()
	return d, func() bool {
		end()
		own, ok := d.(transport.Sharer)
		return ok && len(own.Endings()) > 0
	}
}

// runCases runs the cases of the unit, one after the other, and returns what they observed.
func (r *unitRun) runCases(ctx context.Context, o *opener) []caseObservation {
	u := r.unit
	env := suite.Env{
		Revision: u.revision, Transport: r.s.transport(), KnownRevisions: spec.RevisionsInEra(spec.Handshake, r.offer.revisions),
		Inventory: r.offer.inventories[u.revision], Opener: o,
		Issuer: r.s.o.Issuer, OtherToken: r.s.o.OtherToken, Upstream: r.s.o.Upstream,
	}
	if u.isPlanned() {
		env.Idle = r.idle
	}
	var out []caseObservation
	for _, c := range u.cases {
		if c.Reuses == suite.ReuseAny { // the case may end a server whose silence is not proved yet
			o.awaitQuiet(ctx)
		}
		if u.sharesConversation {
			o.beginCase(c)
		}
		for _, s := range r.runCase(ctx, c, env, o) {
			out = append(out, caseObservation{c, s})
		}
		if u.sharesConversation {
			o.dropLostConversation(ctx)
		}
		isDisturbed := o.isDisturbed()
		o.checkEnded()
		if r.done != nil {
			r.done(c, isDisturbed)
		}
	}
	return out
}

// end ends the conversations and the process of the unit, and judges the conversations.
func (r *unitRun) end(o *opener, stop func() bool, observations []caseObservation) *unitResult {
	again := o.mayRecurAtShutdown(observations)
	for _, conv := range o.conversations() {
		r.s.end(conv, r.unit.occasion(conv), again)
	}
	hasExited := stop()
	out := &unitResult{
		unit: r.unit, observations: observations, conversations: o.conversations(),
		isDisturbed: o.isDisturbed(), hasFailedStart: o.hasFailedStart(), hasExited: hasExited,
	}
	out.ruleResults = r.judge(out.conversations)
	out.exchangedByCase = out.exchanges()
	out.release(r.s.transport(), r.s.budget)
	return out
}

// judge applies the rules to the conversations of the unit.
func (r *unitRun) judge(convs []*client.Conversation) []ruleResult {
	var out []ruleResult
	for _, conv := range convs {
		events := conv.Record.From(0)
		for _, result := range r.s.ruleResults(conv) {
			if slices.ContainsFunc(result.Deviations, func(d verdict.Deviation) bool {
				return r.s.discounts.Voids(&discount.Claim{Requirement: d.Requirement, Concurrent: len(convs) > 1})
			}) {
				continue
			}
			rd := ruleResult{Result: result, record: conv.Record}
			for _, d := range result.Deviations {
				rd.during = append(rd.during, r.unit.caseAt(events, d.At))
			}
			out = append(out, rd)
		}
	}
	return out
}

// rerun runs a unit that is not in the plan. It returns when the servers of the unit have ended and
// the rules have judged its conversations.
func (r *execution) rerun(ctx context.Context, u *unit) *unitResult {
	rank := 0
	if u.rerun.number > 0 {
		rank = len(r.plan.units) // the units of the plan come first
	}
	done := make(chan *unitResult, 1)
	(&unitRun{execution: r, unit: u, rank: rank}).run(ctx, func(result *unitResult) { done <- result })
	return <-done
}
