package refserver

import (
	"fmt"

	"golang.org/x/time/rate"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// limited are the requests whose rate is limited: those that cost something.
var limited = map[string]bool{spec.MethodToolsCall: true, spec.MethodComplete: true}

// newRate returns what counts a client's requests: a bucket that holds those of a
// second and fills up as time goes by; nil where nothing is limited.
func newRate(perSecond int) *rate.Limiter {
	if perSecond == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perSecond), perSecond)
}

// tooMany refuses the call where its client asks too often, and tells when it
// may ask again.
func (c *Call) tooMany() *Error {
	s := c.Session
	if s.rate == nil || !limited[c.Method] {
		return nil
	}
	one := s.rate.Reserve()
	wait := one.Delay()
	if wait == 0 {
		return nil
	}
	one.Cancel() // what is refused does not count
	milliseconds := wait.Milliseconds() + 1
	return &Error{
		Code: spec.CodeInternal, Message: fmt.Sprintf("Too many requests; try again in %d ms", milliseconds),
		Data: object{"retryAfterMs": milliseconds},
	}
}
