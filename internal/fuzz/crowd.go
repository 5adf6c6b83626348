package fuzz

import (
	"context"
	"sync"
)

// crowd limits how many workers search while others shrink a finding: shrinking
// has priority, and all workers share the machine.
type crowd struct {
	mu                   sync.Mutex
	changed              sync.Cond
	following, searching int
	most                 int // workers that search while others shrink
}

func newCrowd(jobs int) *crowd {
	c := &crowd{most: max(1, jobs/4)}
	c.changed.L = &c.mu
	return c
}

// follow adds or removes a worker that shrinks.
func (c *crowd) follow(begins bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if begins {
		c.following++
		return
	}
	c.following--
	c.changed.Broadcast()
}

// search waits for a slot to search; the function it returns releases the slot.
func (c *crowd) search(ctx context.Context) (leave func()) {
	stop := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed.Broadcast()
	})
	defer stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.following > 0 && c.searching >= c.most && ctx.Err() == nil {
		c.changed.Wait()
	}
	c.searching++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.searching--
		c.changed.Signal()
	}
}
