package fuzz

import (
	"context"
	"time"
)

// leastClosing is what there is at least, once the time of a search is over, for
// what was begun and for making findings small; otherwise it is a tenth of that
// time.
const leastClosing = 10 * time.Second

// closing says when a search has to be done with what it found. Zero times are
// no bounds.
type closing struct {
	begun time.Time // no more sequences are begun
	small time.Time // nothing that was begun goes on, and nothing is made small any more
	sure  time.Time // nothing is tried again any more
}

// closingAt returns that of a search of a length that begins now, on a server
// that has as long as timeout for an answer. To make sure of what is not
// answered takes the whole timeout, so there must be room for that.
func closingAt(length, timeout time.Duration) closing {
	if length <= 0 {
		return closing{}
	}
	begun := time.Now().Add(length)
	small := begun.Add(max(length/10, leastClosing))
	return closing{begun: begun, small: small, sure: small.Add(timeout + leastClosing/2)}
}

// tries returns how often a finding is tried to make sure of it: once where the
// time is over, for others wait for the same.
func (c closing) tries() int {
	if !c.begun.IsZero() && time.Now().After(c.begun) {
		return 1
	}
	return verifying
}

// long is longer than any search.
const long = 1000 * time.Hour

// within bounds a context by a duration from now on and, where there is one, by
// a time.
func within(ctx context.Context, most time.Duration, by time.Time) (context.Context, context.CancelFunc) {
	end := time.Now().Add(most)
	if !by.IsZero() && by.Before(end) {
		end = by
	}
	return context.WithDeadline(ctx, end)
}
