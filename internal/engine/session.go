package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// session is what all stages of a run that connect to the server share: options, limits and counts.
type session struct {
	o       Options
	started time.Time
	gate    *gate
	budget  *transcript.Budget // of all conversations
	// time ends at the run's limit, judging a moment later; see limitTime.
	time, judging context.Context
	timing        *timing
	counts        *counts

	discounts *discount.Run
	fixtures  inventory.FixtureOutcomes
	watch     *watch                  // watches a server at a URL; nil if there is none to watch
	stop      context.CancelCauseFunc // ends the run; nil before it began

	largeJudging  sync.Mutex  // held while a conversation that takes much memory is judged
	serverLingers atomic.Bool // a server did not exit when its stdin was closed, or did not respond to DELETE

	mu       sync.Mutex
	notices  []string
	counted  map[*client.Conversation]bool // already shut down and counted
	recorded map[string]int                // number of recorded conversations, by name
}

func newSession(o Options) *session {
	r := &session{
		o: o, started: time.Now(), time: context.Background(), judging: context.Background(), budget: transcript.NewBudget(),
		gate: newGate(o.Jobs, maxAlive(o.Jobs, o.Dialer.Transport(), false)), discounts: o.Discounts,
		timing: newTiming(o.Dialer.Transport()), counts: &counts{},
		fixtures: inventory.NewFixtureOutcomes(o.Policy.Fixtures), counted: map[*client.Conversation]bool{}, recorded: map[string]int{},
	}
	r.gate.budget = r.budget
	return r
}

func (r *session) notice(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notices = append(r.notices, text)
	r.o.Progress.Notice(text)
}

// transport returns the transport of the run.
func (r *session) transport() spec.Transport { return r.o.Dialer.Transport() }

func (r *session) dial(ctx context.Context, o client.Options) (*client.Conversation, error) {
	return r.dialWith(ctx, r.o.Dialer, o)
}

// shortPatience limits the shutdown of servers that did not exit in time before:
// waiting again would show nothing new.
var shortPatience = transport.Patience{AfterClose: 50 * time.Millisecond, AfterTerm: 300 * time.Millisecond}

// end shuts a conversation down, counts it and passes it to Options.Record. A
// second call for the same conversation does nothing more. With again set, as in
// a retry, it waits for the server as long as in the first run, unless the run's
// time is over.
func (r *session) end(c *client.Conversation, occasion string, again bool) {
	if r.time.Err() != nil || r.serverLingers.Load() && !again || c.Web() != nil && r.watch.isServerGone() {
		c.Shutdown(shortPatience)
	} else {
		c.Close()
	}
	if r.count(c) {
		r.record(c, occasion)
		r.watch.checkConversation(c)
	}
}

// count counts an ended conversation. It returns false if it was counted
// before.
func (r *session) count(c *client.Conversation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counted[c] {
		return false
	}
	r.counted[c] = true
	events := c.Record.From(0)
	d := transcript.DialogueOf(events)
	r.counts.observe(events, d)
	r.timing.waits.note(r.transport(), c.Record.Began(), events, d)
	r.discounts.Observe(discount.Conversation{Revision: c.Revision(), Events: events, Dialogue: d, OwnProcess: c.Web() == nil})
	r.fixtures.Observe(c.Revision(), events, d)
	if hasLingered(events) {
		r.serverLingers.Store(true)
	}
	return true
}

// hasLingered reports whether a server did not exit when its stdin was closed, or did not respond
// to DELETE.
func hasLingered(events []*transcript.Event) bool {
	closed := false
	for _, e := range events {
		switch e.Kind {
		case transcript.InputClosed:
			closed = true
		case transcript.Signalled:
			if closed {
				return true
			}
		case transcript.GaveUp:
			if events[e.Of].Kind == transcript.Requested && events[e.Of].Head.Method() == "DELETE" {
				return true
			}
		}
	}
	return false
}

// endShared ends shared conversations.
func (r *session) endShared(all ...*sharedConversation) {
	for _, s := range all {
		if s.conv != nil {
			r.end(s.conv, probeOccasion, false)
		}
	}
}

// sharesProcess reports whether the conversations of the run share a process.
func (r *session) sharesProcess() bool {
	_, shares := r.o.Dialer.(transport.Sharer)
	return shares
}

// hasSingleProcess reports whether no fresh process can be started while the
// conversations of the run exist.
func (r *session) hasSingleProcess() bool {
	sharer, ok := r.o.Dialer.(transport.Sharer)
	return ok && sharer.Single()
}

func (r *session) dialWith(ctx context.Context, d transport.Dialer, o client.Options) (*client.Conversation, error) {
	r.counts.starts.Add(1)
	o.Budget = r.budget
	return client.Open(ctx, d, o)
}
