package engine

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// unit is what is run in one go: the cases that share a conversation, or one
// case with servers of its own.
type unit struct {
	revision           spec.Revision
	cases              []*suite.Case
	sharesConversation bool                // begins with the shared conversation, even without cases
	exclusive          bool                // no other server lives meanwhile
	repeats            int                 // which try to see findings again this is, from 1, and so owes every request its full time; 0 for none
	ownProcess         bool                // on a process of its own, see run.repeat
	conversation       *sharedConversation // the one to go on with, see lanes; nil for that of the probe
	takesInventory     bool                // it takes stock first, as the probe did in the conversation that cases share
	retrying           []*candidate        // what is to be seen again, in a try
	peerDialer         transport.Dialer    // shared with its peers, see retryAmongPeers; nil for a dialer of its own
	// again is the case in which they were seen, nil for none.
	retriedCase *suite.Case

	// disturbed: the process that it had in common with others ended.
	isDisturbed bool
	// unstarted: a server of the unit did not come up.
	hasFailedStart bool
	ownExits       int           // how often the process of its own ended by itself
	unreported     []*suite.Case // done, and not told to the progress for that

	spans           []span // in which its cases ran
	observations    []caseObservation
	ruleResults     []ruleResult
	conversations   []*client.Conversation // by which it was judged
	exchangedByCase map[string]string      // by the id of each case: what was exchanged in it, see exchanged
}

// said is what a case observed.
type caseObservation struct {
	by *suite.Case
	suite.Observation
}

// ruled is what a rule says of one conversation.
type ruleResult struct {
	rules.Result
	record *transcript.Transcript
	// during is the case in which each deviation was seen, nil for none.
	during []*suite.Case
}

// run runs the unit; it returns when the work is done, and calls after when
// all its servers are gone and the rules have judged.
func (u *unit) run(ctx context.Context, r *execution, shared *sharedConversation, each func(*suite.Case), after func()) {
	pass := r.gate.enter(u.exclusive)
	pace := &client.Pace{}
	if u.repeats == 0 && !u.ownProcess {
		pace = r.paces[u.revision]
	}
	dialer, stop := u.dialer(r)
	o := &opener{r: r.offer, revision: u.revision, pass: pass, dialer: dialer, shared: shared, pace: pace, retry: u.repeats, retrying: u.retrying}
	if u.repeats == 0 && !u.ownProcess {
		r.ends.begin(u, o)
	}
	if shared != nil && shared.conv != nil {
		o.addConversation(shared.conv)
		shared.conv.SetIdle(pass.idle)
	}
	if u.sharesConversation {
		conv, err := o.Shared(ctx) // what goes wrong here, the rules and the cases see
		if err == nil && u.takesInventory {
			inventory.Take(ctx, conv, r.o.Policy)
		}
	}
	env := suite.Env{Revision: u.revision, Transport: r.transport(), Spoken: r.revisions, Inventory: r.inventories[u.revision], Opener: o}
	if u.repeats == 0 && !u.ownProcess {
		env.Idle = r.idle
	}
	for _, c := range u.cases {
		if u.sharesConversation {
			o.beginCase(c)
		}
		began := time.Now()
		for _, s := range r.runCase(ctx, c, env, o) {
			u.observations = append(u.observations, caseObservation{c, s})
		}
		u.spans = append(u.spans, span{c, u.revision, began, time.Now()})
		if u.sharesConversation {
			o.renew(ctx)
		}
		u.isDisturbed = o.isDisturbed()
		o.checkEnded()
		each(c)
	}
	if u.sharesConversation && o.shared != nil && o.shared.conv != nil {
		o.shared.conv.Record.BeginCase("")
		_ = o.shared.conv.Quiet(ctx) // for rules on what must not come; silence can't be proved where it fails
	}
	pass.finishWork()
	r.runInBackground(func() {
		defer after()
		defer pass.leave()
		for _, conv := range o.conversations() {
			r.end(conv, u.occasion(), u.repeats > 0)
		}
		stop()
		u.isDisturbed = o.isDisturbed()
		u.hasFailedStart = o.hasFailedStart()
		u.conversations = o.conversations()
		u.judge(r, u.conversations)
		u.release(r)
	})
}

// runToEnd runs the unit, and returns when its servers are gone and the rules
// have judged.
func (u *unit) runToEnd(ctx context.Context, r *execution) {
	done := make(chan struct{})
	u.run(ctx, r, nil, func(*suite.Case) {}, func() { close(done) })
	<-done
}

// runInBackground runs what is left to do for a unit beside the work.
func (r *session) runInBackground(f func()) { go f() }

// judge folds the rules over the conversations of the unit.
func (u *unit) judge(r *execution, convs []*client.Conversation) {
	for _, conv := range convs {
		events := conv.Record.From(0)
		for _, result := range r.judgedBy(conv) {
			if r.mixesResponses && len(convs) > 1 && isCausedByMixing(result, r.transport()) {
				continue
			}
			rd := ruleResult{Result: result, record: conv.Record}
			for _, d := range result.Deviations {
				rd.during = append(rd.during, u.caseAt(events, d.At))
			}
			u.ruleResults = append(u.ruleResults, rd)
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

// candidate is a deviation that may become a finding.
type candidate struct {
	key    verdict.Key
	during *suite.Case // nil: the greeting of the shared conversation
	unit   *unit
	verdict.Deviation
	outcome verdict.Outcome
	record  *transcript.Transcript // where it was seen, nil for none
	// eachTime: it counts only where it comes back each time, see discount.EachTime.
	mustRecur, isWeighed bool
	attempts             int
	reproduced           int
	voidAttempts         int      // tries in which no fresh server came up, which do not count
	peers                []string // the cases without which it does not come back
	earlierAttempts      int      // tries of other sightings of the same, which came to nothing
}

func newCandidate(k verdict.Key, during *suite.Case, d verdict.Deviation, record *transcript.Transcript) *candidate {
	q := spec.Requirements().Lookup(d.Requirement)
	return &candidate{key: k, during: during, Deviation: d, outcome: d.Outcome(q, k.Revision), record: record}
}
