package cli

import (
	"context"
	"time"
)

// settleTime is how long the files must be unchanged before the next round
// begins.
const settleTime = 200 * time.Millisecond

// ownChangeRounds is the number of consecutive rounds in which a file must change to be attributed
// to the server, and ignored from then on.
const ownChangeRounds = 2

// rounds judges the server repeatedly, one round at a time.
type rounds struct {
	changes <-chan string // paths that change; closed when watching has ended
	settle  time.Duration
	// build runs before each round. It is nil if there is nothing to build.
	// Changes during the build are attributed to the build.
	build func(ctx context.Context) bool
	// judge is one round. why is the path that changed, "" in the first round.
	judge func(ctx context.Context, why string)
	// wait is called before waiting for the next change.
	wait func()
	// ignore is called with a file that changes in every round and is ignored from then on.
	ignore func(path string)
	// gone reports whether the path does not exist. If it is nil, every path counts as existing.
	gone func(path string) bool

	during map[string]int  // the number of consecutive rounds in which a path has changed
	own    map[string]bool // paths whose changes are attributed to the server
}

// run loops until the context ends, and waits for the round in progress.
func (r *rounds) run(ctx context.Context) {
	r.during, r.own = map[string]int{}, map[string]bool{}
	why := ""
	for {
		built := true
		if r.build != nil {
			r.collectChangesDuring(func() { built = r.build(ctx) })
		}
		next := ""
		if built && ctx.Err() == nil {
			next = r.noteChanges(r.collectChangesDuring(func() { r.judge(ctx, why) }))
		}
		if next == "" {
			if ctx.Err() != nil {
				return
			}
			r.wait()
			if next = r.awaitChange(ctx); next == "" {
				return
			}
		}
		var still bool
		if why, still = r.awaitQuiet(ctx, next); !still {
			return
		}
	}
}

// collectChangesDuring calls the function do. It returns the paths that changed before that
// function returned, without those that the server itself changes.
func (r *rounds) collectChangesDuring(do func()) []string {
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	var out []string
	for {
		select {
		case path, open := <-r.changes:
			if r.acceptChange(path, open) {
				out = append(out, path)
			}
		case <-done:
			return out
		}
	}
}

// acceptChange reports whether a change of path starts a new round, rather than being an effect of
// the rounds themselves. open is false if the channel of changes is closed. In that case
// acceptChange sets the channel to nil, so that the caller no longer receives from it.
func (r *rounds) acceptChange(path string, open bool) bool {
	if !open {
		r.changes = nil
	}
	return open && !r.own[path]
}

// noteChanges counts in how many consecutive rounds each path has changed. A path that has changed
// in ownChangeRounds rounds is attributed to the server, and ignored from now on. noteChanges
// returns the first of the other changed paths, or a later one if the first no longer exists. It
// returns "" if there are no others.
func (r *rounds) noteChanges(changed []string) string {
	next, now := "", map[string]int{}
	for _, path := range changed {
		if now[path] > 0 {
			continue
		}
		now[path] = r.during[path] + 1
		if now[path] >= ownChangeRounds {
			r.own[path] = true
			r.ignore(path)
		} else if next == "" || r.isBetterName(next, path) {
			next = path
		}
	}
	r.during = now
	return next
}

// awaitChange waits for a change that starts a round, and returns its path. It returns "" if the
// context ends first.
func (r *rounds) awaitChange(ctx context.Context) string {
	for {
		select {
		case path, open := <-r.changes:
			if r.acceptChange(path, open) {
				return path
			}
		case <-ctx.Done():
			return ""
		}
	}
}

// isBetterName reports whether the second path is a better name for the changed file than the
// first, because only the second still exists: editors write a temporary file and rename it over
// the original.
func (r *rounds) isBetterName(path, other string) bool {
	return r.gone != nil && r.gone(path) && !r.gone(other)
}

// awaitQuiet waits until nothing has changed for the duration r.settle. It returns the path to name
// as the reason of the next round: the argument why or, if that path no longer exists, a path that
// changed during the wait. It returns false if the context ends first.
func (r *rounds) awaitQuiet(ctx context.Context, why string) (string, bool) {
	timer := time.NewTimer(r.settle)
	defer timer.Stop()
	for {
		select {
		case path, open := <-r.changes:
			if !r.acceptChange(path, open) {
				continue
			}
			timer.Reset(r.settle)
			if r.isBetterName(why, path) {
				why = path
			}
		case <-timer.C:
			return why, true
		case <-ctx.Done():
			return why, false
		}
	}
}
