package refserver

import (
	"fmt"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// limited are the requests whose rate is limited: those that cost something.
var limited = map[string]bool{spec.MethodToolsCall: true, spec.MethodComplete: true}

// rate is how often a client asked of late: a bucket that holds the requests
// of a second and fills up as time goes by.
type rate struct {
	mu   sync.Mutex
	used float64 // requests that are still to be forgotten
	last time.Time
}

// take counts a request at a time and returns how long it comes too early.
func (r *rate) take(now time.Time, limit int) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used = max(0, r.used-now.Sub(r.last).Seconds()*float64(limit))
	r.last = now
	if over := r.used + 1 - float64(limit); over > 0 {
		return time.Duration(over / float64(limit) * float64(time.Second))
	}
	r.used++
	return 0
}

// tooMany refuses the call where its client asks too often, and tells when it
// may ask again.
func (c *Call) tooMany() *Error {
	s := c.Session
	if s.o.RateLimit == 0 || !limited[c.Method] {
		return nil
	}
	wait := s.rate.take(time.Now(), s.o.RateLimit)
	if wait == 0 {
		return nil
	}
	milliseconds := wait.Milliseconds() + 1
	return &Error{
		Code: spec.CodeInternal, Message: fmt.Sprintf("Too many requests; try again in %d ms", milliseconds),
		Data: object{"retryAfterMs": milliseconds},
	}
}
