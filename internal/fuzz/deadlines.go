package fuzz

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// minOvertime is how long a short search may continue after its time is over, to finish scripts and
// shrink findings. A long search may continue for a tenth of its time, if that is more.
const minOvertime = 10 * time.Second

// deadlines are the times at which the parts of a search must end. A zero time
// limits nothing.
type deadlines struct {
	search time.Time // no script begins after this time
	shrink time.Time // running scripts are interrupted at this time, and shrinking stops
	retry  time.Time // no finding is retried after this time
}

// deadlinesAfter returns the deadlines of a search that begins now and searches for the given time.
// timeout is the longest wait for a response. If length is 0 or less, there are no deadlines.
func deadlinesAfter(length, timeout time.Duration) deadlines {
	if length <= 0 {
		return deadlines{}
	}
	search := time.Now().Add(length)
	shrink := search.Add(max(length/10, minOvertime))
	return deadlines{search: search, shrink: shrink, retry: search.Add(Overtime(length, timeout))}
}

// Overtime returns how long a search may continue after its time is over, to finish scripts and to
// shrink and confirm findings. Confirming that a server hangs takes up to three timeouts: for the
// request itself, for a ping, and for the last wait before the hang is recorded.
func Overtime(length, timeout time.Duration) time.Duration {
	return max(length/10, minOvertime) + 3*timeout + minOvertime/2
}

// attemptLimit returns how often to retry a finding: only once after the search's time is over,
// because other findings still have to be retried, too.
func (d deadlines) attemptLimit() int {
	if !d.search.IsZero() && time.Now().After(d.search) {
		return 1
	}
	return verdict.MaxAttempts
}

// unlimited is longer than any search.
const unlimited = 1000 * time.Hour

// withLimit returns a context that ends after limit, or at the deadline if that is not zero and
// comes first.
func withLimit(ctx context.Context, limit time.Duration, deadline time.Time) (context.Context, context.CancelFunc) {
	end := time.Now().Add(limit)
	if !deadline.IsZero() && deadline.Before(end) {
		end = deadline
	}
	return context.WithDeadline(ctx, end)
}
