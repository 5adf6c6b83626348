package engine

import (
	"time"

	"github.com/mcp-conform/mcp-conform/internal/locks"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// tally counts the cases of each area, and the deviations, for Progress.
type tally struct {
	mu    *locks.RWMutex // held during calls of Progress, which may wait for a check of the server
	areas map[string]*areaTally
	ran   int // how many cases ended before the run's time was over
	found map[verdict.Key]bool
}

type areaTally struct{ done, total int }

// newTally returns a tally for the given numbers of cases by area, none of which is done.
func newTally(totals map[string]int) *tally {
	t := &tally{mu: locks.NewRWMutex(), areas: map[string]*areaTally{}, found: map[verdict.Key]bool{}}
	for area, total := range totals {
		t.areas[area] = &areaTally{total: total}
	}
	return t
}

// countDone counts a finished case; cut reports whether the run's time was over before the case
// ended.
func (t *tally) countDone(p Progress, area string, cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !cut {
		t.ran++
	}
	a := t.areas[area]
	a.done++
	p.Area(area, a.done, a.total)
}

// remaining passes an estimate of the remaining time to Progress.
func (t *tally) remaining(p Progress, left time.Duration, why, faster string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.Remaining(left, why, faster)
}

// countSeen counts the deviations of a finished unit, and reports their total to Progress if it has
// changed.
func (t *tally) countSeen(p Progress, attempts []*attempt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := len(t.found)
	for _, a := range attempts {
		for _, c := range a.candidates {
			t.found[c.key.InAnyRevision()] = true
		}
	}
	if len(t.found) > before {
		p.Found(len(t.found))
	}
}
