package engine

import (
	"fmt"
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

// An ender ends the conversations of a run: it shuts them down, counts them, and passes them to
// Options.Record.
type ender struct {
	over      spec.Transport
	save      func(Recorded) // see Options.Record; nil for none
	limit     *timeLimit
	watch     *watch
	counts    *counts
	waits     *waits
	discounts *discount.Run
	fixtures  inventory.FixtureOutcomes

	serverLingers atomic.Bool // a server did not exit when its stdin was closed, or did not respond to DELETE

	mu       sync.Mutex
	counted  map[*client.Conversation]bool // already shut down and counted
	recorded map[string]int                // number of recorded conversations, by the part of Recorded.Name before the number
}

func newEnder(s *session) *ender {
	return &ender{
		over: s.transport(), save: s.o.Record, limit: s.limit, watch: s.watch, counts: s.counts, waits: &s.timing.waits,
		discounts: s.discounts, fixtures: s.fixtures, counted: map[*client.Conversation]bool{}, recorded: map[string]int{},
	}
}

// shortPatience limits the shutdown of a server if waiting longer would show nothing new, for
// example because an earlier one did not exit in time.
var shortPatience = transport.Patience{AfterClose: 50 * time.Millisecond, AfterTerm: 300 * time.Millisecond}

// end shuts a conversation down, counts it and records it. A second call for the same conversation
// does not count or record it again. The server gets the full time to end, or only shortPatience if
// the run's time is over, if the server at the URL is gone, or if a server has not ended in time
// before. If again is set, as in a retry, earlier servers that did not end in time make no
// difference.
func (e *ender) end(c *client.Conversation, occasion string, again bool) {
	if e.limit.isOver() || e.serverLingers.Load() && !again || c.Web() != nil && e.watch.isServerGone() {
		c.Shutdown(shortPatience)
	} else {
		c.Close()
	}
	if e.count(c) {
		e.record(c, occasion)
		e.watch.checkConversation(c)
	}
}

// endProbe ends a conversation that belongs to no case.
func (e *ender) endProbe(c *client.Conversation) { e.end(c, probeOccasion, false) }

// endProbed ends the conversations of the probe's results.
func (e *ender) endProbed(results ...*probed) {
	var wg sync.WaitGroup
	for _, p := range results {
		if p.conv != nil {
			wg.Go(func() {
				e.endProbe(p.conv)
				if p.stop != nil {
					p.stop()
				}
			})
		}
	}
	wg.Wait()
}

// endShared ends those of the shared conversations that were opened.
func (e *ender) endShared(all ...*sharedConversation) {
	for _, s := range all {
		if s.conv != nil {
			e.endProbe(s.conv)
		}
	}
}

// discard ends a conversation that was opened only to find out whether the server still starts or
// responds. Nothing in it is judged.
func (e *ender) discard(c *client.Conversation) {
	c.Shutdown(shortPatience)
	if e.count(c) {
		e.record(c, probeOccasion)
	}
	c.Record.Release()
}

// count counts an ended conversation, and passes it to everything that learns from conversations.
// It returns false if the conversation was counted before.
func (e *ender) count(c *client.Conversation) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.counted[c] {
		return false
	}
	e.counted[c] = true
	events := c.Record.From(0)
	d := transcript.DialogueOf(events)
	e.counts.observe(events, d)
	e.waits.addConversation(e.over, c.Record.StartTime(), events, d)
	e.discounts.Observe(discount.Conversation{Revision: c.Revision(), Events: events, Dialogue: d, Start: c.Record.StartTime(), OwnProcess: c.Web() == nil})
	e.fixtures.Observe(c.Revision(), events, d)
	if hasLingered(events) {
		e.serverLingers.Store(true)
	}
	return true
}

// record passes an ended conversation to Options.Record.
func (e *ender) record(c *client.Conversation, occasion string) {
	if e.save == nil {
		return
	}
	key := fmt.Sprintf("%s-%s", c.Revision(), occasion)
	e.mu.Lock()
	e.recorded[key]++
	n := e.recorded[key]
	e.mu.Unlock()
	e.save(Recorded{Name: fmt.Sprintf("%s-%d", key, n), Revision: c.Revision(), Occasion: occasion, Began: c.Record.StartTime(), Events: c.Record.From(0)})
}

// hasLingered reports whether the server did not exit when its stdin was closed, or did not respond
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
