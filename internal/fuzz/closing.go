package fuzz

import (
	"context"
	"time"
)

// leastClosing is what there is at least for making findings small once the time
// of a search is over; otherwise it is a tenth of that time.
const leastClosing = 5 * time.Second

// closing says when a search has to be done with what it found. Zero times are
// no bounds.
type closing struct {
	small time.Time // nothing is made small any more
	sure  time.Time // nothing is tried again any more
}

// closingAt returns that of a search of a length that begins now, on a server
// that has as long as timeout for an answer. To make sure of what is not
// answered takes the whole timeout, so there must be room for that.
func closingAt(length, timeout time.Duration) closing {
	if length <= 0 {
		return closing{}
	}
	small := time.Now().Add(length + max(length/10, leastClosing))
	return closing{small: small, sure: small.Add(2*timeout + leastClosing)}
}

// within bounds a context by a duration from now on and, where there is one, by
// a time.
func within(ctx context.Context, most time.Duration, by time.Time) (context.Context, context.CancelFunc) {
	end := time.Now().Add(most)
	if !by.IsZero() && by.Before(end) {
		end = by
	}
	return context.WithDeadline(ctx, end)
}
