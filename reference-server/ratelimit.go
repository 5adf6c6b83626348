package refserver

import (
	"fmt"

	"golang.org/x/time/rate"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// isRateLimited contains the methods that are rate-limited because they are expensive.
var isRateLimited = map[string]bool{spec.MethodToolsCall: true, spec.MethodComplete: true}

// newRateLimiter returns a limiter for the requests that share an offer. It permits perSecond
// requests per second, and bursts of as many. It returns nil, which means no limit, if perSecond is
// 0.
func newRateLimiter(perSecond int) *rate.Limiter {
	if perSecond == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perSecond), perSecond)
}

// checkRate returns an error that says when to retry if the call exceeds the rate limit,
// otherwise nil.
func (c *Call) checkRate() *Error {
	limiter := c.offer().limiter
	if limiter == nil || !isRateLimited[c.Method] {
		return nil
	}
	reservation := limiter.Reserve()
	wait := reservation.Delay()
	if wait == 0 {
		return nil
	}
	reservation.Cancel() // a refused request does not count
	milliseconds := wait.Milliseconds() + 1
	return &Error{
		Code: spec.CodeInternal, Message: fmt.Sprintf("Too many requests; try again in %d ms", milliseconds),
		Data: object{"retryAfterMs": milliseconds},
	}
}
