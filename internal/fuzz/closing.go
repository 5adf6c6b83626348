package fuzz

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// leastClosing is the minimum time that a search gets after its own time is
// over, to finish scripts and shrink findings. A long search gets a tenth of
// its time.
const leastClosing = 10 * time.Second

// closing holds the times at which the parts of a search must end. A zero time
// limits nothing.
type closing struct {
	begun time.Time // no script begins after it
	small time.Time // running scripts are cut off, and shrinking stops
	sure  time.Time // no finding is retried after it
}

// closingAt returns the closing of a search that begins now. The timeout is the
// one for a response.
func closingAt(length, timeout time.Duration) closing {
	if length <= 0 {
		return closing{}
	}
	begun := time.Now().Add(length)
	small := begun.Add(max(length/10, leastClosing))
	return closing{begun: begun, small: small, sure: begun.Add(Overtime(length, timeout))}
}

// Overtime returns how long a search may continue after its time is over, to
// finish scripts and to shrink and confirm findings. Confirming that a server
// hangs takes up to three timeouts: for the request itself, for a ping, and for
// the last wait.
func Overtime(length, timeout time.Duration) time.Duration {
	return max(length/10, leastClosing) + 3*timeout + leastClosing/2
}

// attempts returns how often a finding is retried: only once when the search's
// time is over, because other findings wait.
func (c closing) attempts() int {
	if !c.begun.IsZero() && time.Now().After(c.begun) {
		return 1
	}
	return verdict.MaxAttempts
}

// long is longer than any search.
const long = 1000 * time.Hour

// within returns a context that ends after the given duration, or at the given
// time if that is not zero and comes first.
func within(ctx context.Context, most time.Duration, by time.Time) (context.Context, context.CancelFunc) {
	end := time.Now().Add(most)
	if !by.IsZero() && by.Before(end) {
		end = by
	}
	return context.WithDeadline(ctx, end)
}
