package engine

import "sync"

// tally counts cases an area for the progress.
type tally struct {
	mu    sync.Mutex
	areas map[string]*areaTally
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

func (t *tally) done(p Progress, area string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.areas[area]
	a.done++
	p.Area(area, a.done, a.total)
}
