package engine

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Over HTTP the sessions of a run share a process, and a message for one session may by mistake
// reach another. Such a message does not recur when the case of the session that got it runs alone.
// So an unsolicited message is also retried among the peers of its case: the cases that were
// running when the message came.

// A peer is a case in a revision.
type peer struct {
	testCase *suite.Case
	revision spec.Revision
}

const (
	// maxPeerAttempts limits how many attempts are retried among peers, and maxPeers how many peers
	// each attempt has.
	maxPeerAttempts = 3
	maxPeers        = 16
	// peersTime limits the time of all attempts among peers together.
	peersTime = 20 * time.Second
)

// confirmAmongPeers retries, among peers, candidates that did not recur when their case ran alone,
// and whose message may have been meant for another session. A candidate that recurs only among
// peers is a warning at most, because isolation between sessions is a derived requirement.
func (r *confirmation) confirmAmongPeers(ctx context.Context, found []*candidate) {
	if r.s.transport() == spec.Stdio || r.s.gate.isSingle || r.s.discounts.MixesResponses() {
		return
	}
	var open []*candidate
	for _, c := range found {
		if c.outcome == verdict.Flaky && c.retries.Reproduced == 0 && c.during != nil && c.unsolicitedEvent() != nil && len(r.peersOf(c)) > 0 {
			open = append(open, c)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, peersTime)
	defer cancel()
	for i, a := range groupAttempts(open) {
		if i == maxPeerAttempts || ctx.Err() != nil {
			return
		}
		r.retryAmongPeers(ctx, a)
	}
}

// retryAmongPeers runs the case of the attempt, while the peers run in a loop, until each candidate
// has recurred or was retried often enough.
func (r *confirmation) retryAmongPeers(ctx context.Context, a *attempt) {
	var peers []peer
	for _, c := range a.candidates {
		for _, p := range r.peersOf(c) {
			if !slices.Contains(peers, p) && len(peers) < maxPeers {
				peers = append(peers, p)
			}
		}
	}
	d, stop := r.s.dialer, func() {}
	if sharer, ok := d.(transport.Sharer); ok {
		d, stop = sharer.FreshDialer()
	}
	defer stop()
	peersCtx, stopPeers := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stopPeers()
	for _, p := range peers {
		running.Go(func() {
			for peersCtx.Err() == nil {
				u := &unit{revision: p.revision, cases: []*suite.Case{p.testCase}, sharesConversation: p.testCase.SharesConversation, rerun: &rerun{dialer: d}}
				r.run(peersCtx, u).dropRecords()
			}
		})
	}
	for _, c := range a.candidates {
		c.retries.Extend()
	}
	r.retryUntilDone(ctx, a, false, d)
	for _, c := range a.candidates {
		if c.retries.Reproduced == 0 {
			continue
		}
		c.outcome = min(verdict.Warning, c.Deviation.Outcome(spec.Requirements().Lookup(c.Requirement), c.key.Revision))
		c.Seen += "; only while other clients are served"
		for _, p := range peers {
			c.peers = append(c.peers, p.testCase.ID)
		}
	}
}

// unsolicitedEvent returns the last event of the candidate's evidence if it is unsolicited, and
// otherwise nil. An event is unsolicited if the server sent a request, a notification, or a
// response to no request of the session. A list_changed notification does not count, because it may
// go to all clients.
func (c *candidate) unsolicitedEvent() *transcript.Event {
	if c.record == nil || len(c.At) == 0 {
		return nil
	}
	events := c.record.From(0)
	last := c.At[len(c.At)-1]
	if last >= len(events) || events[last].Kind != transcript.Received {
		return nil
	}
	e := events[last]
	for i := range e.Messages() {
		switch m := &e.Frame.Messages[i]; m.Kind {
		case wire.Request:
			return e
		case wire.Notification:
			if !strings.HasSuffix(m.Method, "/list_changed") {
				return e
			}
		case wire.Response:
			if transcript.DialogueOf(events).RequestOf(m) == nil {
				return e
			}
		}
	}
	return nil
}

// peersOf returns the cases of other units that were running when the candidate's unsolicited
// message came.
func (r *confirmation) peersOf(c *candidate) []peer {
	at := c.record.StartTime().Add(c.unsolicitedEvent().At)
	var out []peer
	for _, u := range r.plan.units {
		for _, each := range u.cases {
			if u != c.from.unit && r.outlook.ranAt(u, each, at) && len(out) < maxPeers {
				out = append(out, peer{each, u.revision})
			}
		}
	}
	return out
}
