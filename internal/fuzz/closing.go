package fuzz

import (
	"context"
	"time"
)

// leastClosing is the least time, after a search is over, for finishing
// sequences and shrinking findings; otherwise it is a tenth of the search's
// time.
const leastClosing = 10 * time.Second

// closing says when the parts of a search must end. Zero times are no limits.
type closing struct {
	begun time.Time // no more sequences are begun
	small time.Time // the end of whatever is still running; shrinking stops, too
	sure  time.Time // nothing is tried again any more
}

// closingAt returns the closing of a search that begins now, on a server with
// this timeout for a response. Confirming a missing response takes the whole
// timeout.
func closingAt(length, timeout time.Duration) closing {
	if length <= 0 {
		return closing{}
	}
	begun := time.Now().Add(length)
	small := begun.Add(max(length/10, leastClosing))
	return closing{begun: begun, small: small, sure: begun.Add(Overtime(length, timeout))}
}

// Overtime returns how much longer than its time a search may take, to finish
// sequences, and to shrink and confirm findings.
func Overtime(length, timeout time.Duration) time.Duration {
	return max(length/10, leastClosing) + timeout + leastClosing/2
}

// tries returns how often a finding is retried: once after the search's time,
// because others wait.
func (c closing) tries() int {
	if !c.begun.IsZero() && time.Now().After(c.begun) {
		return 1
	}
	return verifying
}

// long is longer than any search.
const long = 1000 * time.Hour

// within limits a context by a duration from now and, if it is not zero, by a
// time.
func within(ctx context.Context, most time.Duration, by time.Time) (context.Context, context.CancelFunc) {
	end := time.Now().Add(most)
	if !by.IsZero() && by.Before(end) {
		end = by
	}
	return context.WithDeadline(ctx, end)
}
