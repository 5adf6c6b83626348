package engine

import (
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// tally counts the cases of each area for the progress.
type tally struct {
	mu    sync.Mutex
	areas map[string]*areaTally
	ran   int // before the run's time was over
	found map[verdict.Key]bool
}

type areaTally struct{ done, total int }

func (t *tally) add(area string) {
	if t.areas == nil {
		t.areas = map[string]*areaTally{}
	}
	if t.areas[area] == nil {
		t.areas[area] = &areaTally{}
	}
	t.areas[area].total++
}

func (t *tally) total() int {
	n := 0
	for _, a := range t.areas {
		n += a.total
	}
	return n
}

// done counts a finished case. It was cut short if the run ended before.
func (t *tally) done(p Progress, area string, cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !cut {
		t.ran++
	}
	a := t.areas[area]
	a.done++
	p.Area(area, a.done, a.total)
}

// remaining passes an estimate to the progress.
func (t *tally) remaining(p Progress, left time.Duration, why, faster string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.Remaining(left, why, faster)
}

// countSeen counts the deviations of a finished unit.
func (t *tally) countSeen(p Progress, attempts []*attempt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := len(t.found)
	for _, a := range attempts {
		for _, c := range a.candidates {
			if t.found == nil {
				t.found = map[verdict.Key]bool{}
			}
			t.found[c.key.InAnyRevision()] = true
		}
	}
	if len(t.found) > before {
		p.Found(len(t.found))
	}
}
