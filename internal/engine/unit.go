package engine

import (
	"context"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// A unit is what runs together: the cases that share a conversation, or one
// case with servers of its own.
type unit struct {
	revision           spec.Revision
	cases              []*suite.Case
	sharesConversation bool                // opens a conversation that its cases share or continue, even if it has no cases
	isChain            bool                // its cases continue conversations but share none, see chains
	rank               int                 // of units that wait for a slot, the one with the lowest rank gets it
	exclusive          bool                // no other server runs at the same time
	repeats            int                 // number of the retry, from 1; 0 for a first run. A retry gives every request its full time
	ownProcess         bool                // runs on a process of its own, see execution.repeat
	conversation       *sharedConversation // the conversation to continue, see lanes; nil for that of the probe
	takesInventory     bool                // takes the inventory first, as the probe did in the shared conversation
	retrying           []*candidate        // the candidates that a retry tries to reproduce
	peerDialer         transport.Dialer    // shared with its peers, see retryAmongPeers; nil for a dialer of its own
	// retriedCase is the case in which the candidates were seen; nil if there
	// is none.
	retriedCase *suite.Case

	isDisturbed    bool          // a process that it shared with other units exited
	hasFailedStart bool          // a server of the unit did not start
	hasExited      bool          // its own process exited unexpectedly
	unreported     []*suite.Case // done, but not reported to the progress because the unit runs again

	results unitResults
}

// unitResults are the results of a unit that has run.
type unitResults struct {
	observations    []caseObservation
	ruleResults     []ruleResult
	conversations   []*client.Conversation // that the rules judged
	exchangedByCase map[string]string      // a summary of the messages of each case by its id, see exchangesOf
}

// withCases returns a unit like u with other cases and new conversations.
func (u *unit) withCases(cases []*suite.Case) *unit {
	return &unit{
		revision: u.revision, cases: cases,
		sharesConversation: u.sharesConversation, isChain: u.isChain, takesInventory: u.isLane(),
	}
}

// reusesServers reports whether some cases of the unit reuse the servers of earlier cases, see
// opener.Continue. Those are the cases that do not share the unit's conversation.
func (u *unit) reusesServers() bool {
	return u.sharesConversation && slices.ContainsFunc(u.cases, func(c *suite.Case) bool { return !c.SharesConversation })
}

// A caseObservation is an observation with the case that made it.
type caseObservation struct {
	by *suite.Case
	suite.Observation
}

// A ruleResult is the result of a rule for one conversation.
type ruleResult struct {
	rules.Result
	record *transcript.Transcript
	// during holds the case in which each deviation was seen, or nil.
	during []*suite.Case
}

// run runs the unit. It calls each after each case, and returns when the cases are
// done. It calls after when all servers of the unit have ended and the rules have
// judged.
func (u *unit) run(ctx context.Context, r *execution, shared *sharedConversation, each func(*suite.Case), after func()) {
	o, stop := u.opener(r.s, shared)
	if u.isFirstRun() {
		r.s.discounts.BeginShared(u, o.records)
	}
	if u.sharesConversation {
		conv, err := o.Shared(ctx) // rules and cases see an error here
		if err == nil && u.takesInventory {
			inventory.Take(ctx, conv, r.s.o.Policy)
		}
	}
	u.runCases(ctx, r, o, each)
	if u.sharesConversation && o.shared != nil && o.shared.conv != nil {
		o.shared.conv.Record.BeginCase("")
		_ = o.shared.conv.Quiet(ctx) // for rules about messages that must not come; on failure silence is not proved
	}
	o.pass.finishWork()
	r.s.runInBackground(func() {
		defer after()
		defer o.pass.leave()
		u.end(r.s, o)
		stop()
		u.isDisturbed = o.isDisturbed()
		u.hasFailedStart = o.hasFailedStart()
		u.results.conversations = o.conversations()
		u.judge(r.s, u.results.conversations)
		u.release(r.s)
	})
}

// isFirstRun reports whether the unit is not a retry, and shares the server's process.
func (u *unit) isFirstRun() bool { return u.repeats == 0 && !u.ownProcess }

// opener waits until the gate admits the unit, and returns the opener of its conversations. If
// shared is not nil, the unit continues that conversation. stop ends the unit's own process, if it
// has one.
func (u *unit) opener(s *session, shared *sharedConversation) (o *opener, stop func()) {
	pass := s.gate.enter(u.exclusive, u.rank)
	pace := &client.Pace{}
	if u.isFirstRun() {
		pace = s.timing.paces[u.revision]
	}
	dialer, stop := u.dialer(s)
	o = &opener{s: s, revision: u.revision, pass: pass, dialer: dialer, shared: shared, pace: pace, retry: u.repeats, retrying: u.retrying, occasion: u.occasion}
	if u.reusesServers() {
		o.reusable = &reusable{ended: map[*client.Conversation]bool{}}
	}
	if shared != nil && shared.conv != nil {
		o.keep(shared.conv)
		o.Leave(shared.conv)
		shared.conv.SetIdle(pass.idle)
	}
	return o, stop
}

// runCases runs the cases of the unit, one after the other.
func (u *unit) runCases(ctx context.Context, r *execution, o *opener, each func(*suite.Case)) {
	env := suite.Env{
		Revision: u.revision, Transport: r.s.transport(), KnownRevisions: spec.InEra(spec.Handshake, r.offer.revisions),
		Inventory: r.offer.inventories[u.revision], Opener: o,
		Issuer: r.s.o.Issuer, OtherToken: r.s.o.OtherToken, Upstream: r.s.o.Upstream,
	}
	if u.isFirstRun() {
		env.Idle = r.idle
	}
	for _, c := range u.cases {
		if u.sharesConversation {
			o.beginCase(c)
		}
		for _, s := range r.runCase(ctx, c, env, o) {
			u.results.observations = append(u.results.observations, caseObservation{c, s})
		}
		if u.sharesConversation {
			o.renew(ctx)
		}
		u.isDisturbed = o.isDisturbed()
		o.checkEnded()
		each(c)
	}
}

// end ends the conversations of the unit.
func (u *unit) end(s *session, o *opener) {
	again := o.needsEnd(u.results.observations)
	for _, conv := range o.conversations() {
		s.end(conv, u.occasion(conv), again)
	}
}

// runToEnd runs the unit, and returns when its servers have ended and the rules
// have judged.
func (u *unit) runToEnd(ctx context.Context, r *execution) {
	done := make(chan struct{})
	u.run(ctx, r, nil, func(*suite.Case) {}, func() { close(done) })
	<-done
}

// runInBackground shuts down and judges a unit while others run.
func (r *session) runInBackground(f func()) { go f() }

// judge applies the rules to the conversations of the unit.
func (u *unit) judge(s *session, convs []*client.Conversation) {
	for _, conv := range convs {
		events := conv.Record.From(0)
		for _, result := range s.ruleResults(conv) {
			if slices.ContainsFunc(result.Deviations, func(d verdict.Deviation) bool {
				return s.discounts.Voids(&discount.Claim{Requirement: d.Requirement, Concurrent: len(convs) > 1})
			}) {
				continue
			}
			rd := ruleResult{Result: result, record: conv.Record}
			for _, d := range result.Deviations {
				rd.during = append(rd.during, u.caseAt(events, d.At))
			}
			u.results.ruleResults = append(u.results.ruleResults, rd)
		}
	}
}

// caseAt returns the case that was running at the last of the positions.
func (u *unit) caseAt(events []*transcript.Event, at []int) *suite.Case {
	if !u.sharesConversation {
		return u.cases[0]
	}
	last := len(events)
	if len(at) > 0 {
		last = at[len(at)-1]
	}
	for i := min(last, len(events)-1); i >= 0; i-- {
		if e := events[i]; e.Kind == transcript.CaseBegan {
			for _, c := range u.cases {
				if c.ID == e.Detail {
					return c
				}
			}
			return nil
		}
	}
	return nil
}

// records returns the records by which the unit was judged, each once.
func (u *unit) records() []*transcript.Transcript {
	var out []*transcript.Transcript
	add := func(record *transcript.Transcript) {
		if record != nil && !slices.Contains(out, record) {
			out = append(out, record)
		}
	}
	for _, rd := range u.results.ruleResults {
		add(rd.record)
	}
	for _, s := range u.results.observations {
		add(s.Record)
	}
	return out
}

// candidate is a deviation that may become a finding.
type candidate struct {
	key    verdict.Key
	during *suite.Case // nil: the handshake of the shared conversation
	unit   *unit
	verdict.Deviation
	outcome      verdict.Outcome
	record       *transcript.Transcript // where it was seen, or nil
	retries      verdict.Retries
	isDiscounted bool     // retries.EachTime is set if a discount requires it
	peers        []string // the cases that must run concurrently to reproduce it
}

func newCandidate(k verdict.Key, during *suite.Case, d verdict.Deviation, record *transcript.Transcript) *candidate {
	q := spec.Requirements().Lookup(d.Requirement)
	return &candidate{key: k, during: during, Deviation: d, outcome: d.Outcome(q, k.Revision), record: record}
}
