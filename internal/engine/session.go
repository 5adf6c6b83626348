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

// session is what all stages of a run share: options, limits and counts.
type session struct {
	o       Options
	started time.Time
	gate    *gate
	budget  *transcript.Budget // of all conversations
	// time ends at the run's limit, judging a moment later; see limitTime.
	time, judging context.Context

	discounts *discount.Run
	fixtures  inventory.FixtureOutcomes
	ends      ends
	crashes   crashes
	watch     *watch                  // watches a server at a URL; nil if there is none to watch
	stop      context.CancelCauseFunc // ends the run; nil before it began

	starts, messages   atomic.Int64
	sessions, requests atomic.Int64 // see verdict.Stats
	unjudged           atomic.Int64 // conversations that there was no time to judge
	largeJudging       sync.Mutex   // held while a conversation that takes much memory is judged
	isLingering        atomic.Bool  // a server did not exit when its stdin was closed, or did not respond to DELETE

	waits waits // of the ended conversations

	mu      sync.Mutex
	notices []string
	// slowestStart is the longest time that a server took to respond to
	// initialize.
	slowestStart time.Duration
	counted      map[*client.Conversation]bool // already shut down and counted
	recorded     map[string]int                // number of recorded conversations, by name
}

func newSession(o Options) *session {
	r := &session{
		o: o, started: time.Now(), time: context.Background(), judging: context.Background(), budget: transcript.NewBudget(),
		gate: newGate(o.Jobs, mostAlive(o.Jobs, o.Dialer.Transport(), false)), discounts: discount.NewRun(),
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
	return r.dialBy(ctx, r.o.Dialer, o)
}

// impatient is the shutdown for servers that lingered before: a second wait
// shows nothing new.
var impatient = transport.Patience{AfterClose: 50 * time.Millisecond, AfterTerm: 300 * time.Millisecond}

// end shuts a conversation down, counts it and passes it to Options.Record,
// once. A conversation of a retry waits for the server as long as the first one
// did, unless the run's time is over.
func (r *session) end(c *client.Conversation, occasion string, again bool) {
	if r.time.Err() != nil || r.isLingering.Load() && !again || c.Web() != nil && r.watch.isServerGone() {
		c.Shutdown(impatient)
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
	r.countRequests(d)
	r.waits.note(r.transport(), c.Record.Began(), events, d)
	r.discounts.Observe(discount.Conversation{Revision: c.Revision(), Events: events, Dialogue: d})
	r.fixtures.Observe(c.Revision(), events, d)
	if c.Web() == nil {
		r.crashes.observe(events, d, c.Stderr)
	}
	closed := false
	for _, e := range events {
		switch e.Kind {
		case transcript.Sent, transcript.Received:
			r.messages.Add(1)
		case transcript.InputClosed:
			closed = true
		case transcript.Signalled:
			if closed {
				r.isLingering.Store(true)
			}
		case transcript.GaveUp:
			if events[e.Of].Kind == transcript.Requested && events[e.Of].Head.Method() == "DELETE" {
				r.isLingering.Store(true)
			}
		}
	}
	return true
}

// countRequests counts the requests of an ended conversation, and the sessions that they opened.
func (r *session) countRequests(d *transcript.Dialogue) {
	for _, q := range d.Requests() {
		r.requests.Add(1)
		if m := q.Response(); m != nil && q.Message.Method == spec.MethodInitialize && m.Has("result") {
			r.sessions.Add(1)
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

func (r *session) dialBy(ctx context.Context, d transport.Dialer, o client.Options) (*client.Conversation, error) {
	r.starts.Add(1)
	o.Budget = r.budget
	return client.Open(ctx, d, o)
}
