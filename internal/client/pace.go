package client

import (
	"sync"
	"time"
)

// Pace remembers, over all conversations that share it, whether a server
// leaves requests unanswered, and how slow it is at its slowest. Once a
// request was waited for in vain as long as it is owed, the next ones get as
// much time as this server needs rather than the whole timeout: else a server
// that answers nothing costs the timeout for each request.
type Pace struct {
	mu      sync.Mutex
	missed  bool
	slowest time.Duration
}

// leastWait is what any request gets, also from a server that missed some.
const leastWait = 2 * time.Second

// limit returns how long to wait for an answer that is owed within timeout.
func (p *Pace) limit(timeout time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.missed {
		return timeout
	}
	return min(timeout, max(leastWait, 20*p.slowest))
}

func (p *Pace) took(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slowest = max(p.slowest, d)
}

func (p *Pace) miss() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.missed = true
}
