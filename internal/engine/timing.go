package engine

import (
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// timing holds what a run has measured about the server's response and start times.
type timing struct {
	over  spec.Transport
	waits waits                          // the waits of the ended conversations
	paces map[spec.Revision]*client.Pace // shared by the conversations of a revision, except those of retries

	mu sync.Mutex
	// slowestStart is the longest time that a server took to start and respond to
	// initialize or server/discover.
	slowestStart time.Duration
}

func newTiming(over spec.Transport) *timing {
	t := &timing{over: over, paces: map[spec.Revision]*client.Pace{}}
	for _, rev := range spec.Revisions() {
		t.paces[rev] = &client.Pace{}
	}
	return t
}

// noteStart records how long a server took to start and respond to the first request.
func (t *timing) noteStart(reply *client.Reply) {
	if !reply.Answered() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slowestStart = max(t.slowestStart, reply.Event.At)
}

// slowest returns the longest time that a server took to start and respond to the first request.
func (t *timing) slowest() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.slowestStart
}

// typicalStart returns the typical time from the start of a process to its first response.
func (t *timing) typicalStart() time.Duration {
	if d := t.waits.typicalStart(); d > 0 {
		return d
	}
	return t.slowest()
}

// rates returns the rates in a revision, as measured so far.
func (t *timing) rates(rev spec.Revision) rates {
	out := rates{over: t.over, response: max(t.paces[rev].Typical(), minResponseTime)}
	if t.over == spec.Stdio {
		out.start = max(0, t.typicalStart()-out.response)
	}
	return out
}

// allRates returns the rates in each revision.
func (t *timing) allRates() map[spec.Revision]rates {
	out := map[spec.Revision]rates{}
	for rev := range t.paces {
		out[rev] = t.rates(rev)
	}
	return out
}
