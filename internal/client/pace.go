package client

import (
	"slices"
	"sync"
	"time"
)

// Pace remembers, for all conversations that share it, the slowest response of a server, and
// whether requests timed out. Once a request has timed out, later ones get a time in proportion to
// the slowest response instead of the whole timeout, because otherwise a server that does not
// respond would cost the whole timeout for each request.
//
// Fences are counted separately, because they get less time than other requests.
type Pace struct {
	mu                 sync.Mutex
	hasMissedFence     bool
	hasMissedLongFence bool // a fence timed out that had as much time as a request
	slowest            time.Duration
	unanswered         int             // requests that timed out
	recent             []time.Duration // the latest response times, at most pacedResponses
	noted              int             // how many response times there were
}

// pacedResponses is the number of recent response times whose median Typical returns.
const pacedResponses = 256

// After a request has timed out, later ones still get at least minWait, unless the timeout is
// shorter. After a fence has timed out, later fences get at least the timeout divided by
// fenceDivisor.
const (
	minWait      = 2 * time.Second
	fenceDivisor = 10
)

// thoroughWaits is how many requests may time out in a retry (see Options.Thorough) before later
// ones get less time. Otherwise a request without a response would hide that a later one gets none
// either.
const thoroughWaits = 3

// requestLimit returns how long to wait for the response to a request: the timeout, or less once
// enough requests have timed out.
func (p *Pace) requestLimit(o *Options) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unanswered == 0 || o.Thorough && p.unanswered < thoroughWaits {
		return o.Timeout
	}
	return p.scaledLimit(minWait, o.Timeout)
}

// extraLimit returns how long to wait for a response whose absence rules do not count as a failure:
// the timeout, or less once a request, or a fence with as much time, has timed out.
func (p *Pace) extraLimit(timeout time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unanswered == 0 && !p.hasMissedLongFence {
		return timeout
	}
	return p.scaledLimit(minWait, timeout)
}

// fenceLimit returns how long to wait for the response to a fence: the usual time, or less once a
// fence has timed out.
func (p *Pace) fenceLimit(usual, timeout time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.hasMissedFence {
		return usual
	}
	return p.scaledLimit(timeout/fenceDivisor, usual)
}

// scaledLimit returns twenty times the slowest response time, but not less than the first argument
// and not more than the second.
func (p *Pace) scaledLimit(least, most time.Duration) time.Duration {
	return min(most, max(least, 20*p.slowest))
}

// NoteDuration records how long a response took.
func (p *Pace) NoteDuration(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slowest = max(p.slowest, d)
	if p.noted++; len(p.recent) < pacedResponses {
		p.recent = append(p.recent, d)
	} else {
		p.recent[p.noted%pacedResponses] = d
	}
}

// Typical returns the median of the latest response times of single requests, or 0 if there are
// none.
func (p *Pace) Typical() time.Duration {
	p.mu.Lock()
	all := slices.Clone(p.recent)
	p.mu.Unlock()
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// Unanswered returns how many requests timed out.
func (p *Pace) Unanswered() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unanswered
}

func (p *Pace) noteMissedFence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hasMissedFence = true
}

func (p *Pace) noteMissedLongFence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hasMissedLongFence = true
}

func (p *Pace) noteUnanswered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unanswered++
}
