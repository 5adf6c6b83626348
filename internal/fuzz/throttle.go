package fuzz

import (
	"context"
	"sync"
)

// A throttle limits how many workers search while others shrink findings, because shrinking has
// priority and all workers share the machine.
type throttle struct {
	mu                   sync.Mutex
	changed              sync.Cond
	shrinking, searching int
	limit                int // maximum of searching while shrinking is not 0
}

func newThrottle(jobs int) *throttle {
	t := &throttle{limit: max(1, jobs/4)}
	t.changed.L = &t.mu
	return t
}

// setShrinking adds or removes a worker that shrinks.
func (t *throttle) setShrinking(begins bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if begins {
		t.shrinking++
		return
	}
	t.shrinking--
	t.changed.Broadcast()
}

// acquire waits for a slot to search, or until ctx ends; the returned function releases the slot.
func (t *throttle) acquire(ctx context.Context) (release func()) {
	stop := context.AfterFunc(ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.changed.Broadcast()
	})
	defer stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.shrinking > 0 && t.searching >= t.limit && ctx.Err() == nil {
		t.changed.Wait()
	}
	t.searching++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.searching--
		t.changed.Signal()
	}
}
