package engine

import (
	"context"
	"time"
)

// A timeLimit limits the duration of a run: at the limit the run ends, whatever the server does.
// Judging much traffic can take long, so judging has a limit too, which is afterLimit later.
type timeLimit struct {
	run, judging context.Context
	stop         context.CancelCauseFunc // ends the run before its limit
}

// afterLimit is how long judging continues after the run's limit.
const afterLimit = 2 * time.Second

// newTimeLimit returns a limit that is never reached.
func newTimeLimit() *timeLimit {
	return &timeLimit{run: context.Background(), judging: context.Background(), stop: func(error) {}}
}

// begin makes the end of ctx the limit. The returned context ends at the limit, or when l.stop is
// called. The caller must call end when the run is over.
func (l *timeLimit) begin(ctx context.Context) (limited context.Context, end func()) {
	judging, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(afterLimit)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel(context.Cause(ctx))
		case <-judging.Done():
		}
	})
	limited, stop := context.WithCancelCause(ctx)
	l.run, l.judging, l.stop = ctx, judging, stop
	return limited, func() { unhook(); cancel(nil); stop(nil) }
}

// isOver reports whether the limit is reached.
func (l *timeLimit) isOver() bool { return l.run.Err() != nil }
