package engine

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// A waitKind is a reason for which a conversation waits.
type waitKind int

const (
	forResponses waitKind = iota
	forStarts             // for a process to start and respond for the first time
	forNothing            // for responses that did not come in time
	forExits              // for a process to exit
	waitKinds
)

// A wait is a period in which a conversation waited for the server.
type wait struct {
	kind     waitKind
	from, to time.Time
}

// maxWaits limits the number of waits that are kept, to bound the memory of a run that lasts for
// hours.
const maxWaits = 200_000

// waits records what the ended conversations of a run waited for.
type waits struct {
	mu     sync.Mutex
	all    []wait
	starts int           // number of starts that led to a response
	start  time.Duration // total time of these starts
}

// addConversation adds the waits of an ended conversation.
func (w *waits) addConversation(over spec.Transport, began time.Time, events []*transcript.Event, d *transcript.Dialogue) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.all) > maxWaits {
		return
	}
	add := func(kind waitKind, from, to time.Duration) {
		w.all = append(w.all, wait{kind, began.Add(from), began.Add(to)})
	}
	for i, q := range d.Requests() {
		switch m := q.Response(); {
		case m == nil:
		case i == 0 && over == spec.Stdio:
			add(forStarts, 0, m.Event.At)
			w.starts, w.start = w.starts+1, w.start+m.Event.At
		default:
			add(forResponses, q.Event.At, m.Event.At)
		}
	}
	closed := time.Duration(-1)
	for _, e := range events {
		switch {
		case e.Kind == transcript.GaveUp && !e.Short: // a lower timeout would not shorten such a wait
			add(forNothing, events[e.Of].At, e.At)
		case e.Kind == transcript.InputClosed:
			closed = e.At
		case e.Kind == transcript.Exited && closed >= 0:
			add(forExits, closed, e.At)
		}
	}
}

// typicalStart returns the average time from the start of a process to its first response.
func (w *waits) typicalStart() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.start / time.Duration(max(1, w.starts))
}

// timeSpentByKind returns the total time that was spent waiting, by kind. While several
// conversations wait at the same time, the time is divided equally among them.
func (w *waits) timeSpentByKind() (out [waitKinds]time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	type change struct {
		at   time.Time
		kind waitKind
		by   int
	}
	var changes []change
	for _, each := range w.all {
		changes = append(changes, change{each.from, each.kind, 1}, change{each.to, each.kind, -1})
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(b.by, a.by)) })
	var waiting [waitKinds]int
	all := 0
	for i, c := range changes {
		if all > 0 {
			passed := c.at.Sub(changes[i-1].at)
			for k, n := range waiting {
				out[k] += passed * time.Duration(n) / time.Duration(all)
			}
		}
		waiting[c.kind] += c.by
		all += c.by
	}
	return out
}
