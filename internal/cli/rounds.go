package cli

import (
	"context"
	"time"
)

// settling is how long nothing has to change before the server is judged again.
const settling = 200 * time.Millisecond

// ownDoing is in how many runs, one after the other, a file has to change until
// that is taken for the server's doing.
const ownDoing = 2

// rounds judges again and again, never twice at once.
type rounds struct {
	changes <-chan string // paths that change; closed where nobody watches any more
	settle  time.Duration
	// build runs before each round; nil for nothing to build. What changes
	// meanwhile is taken for its doing.
	build func(ctx context.Context) bool
	// judge is one round; why is what changed, "" in the first.
	judge func(ctx context.Context, why string)
	// wait is told when the next change is waited for.
	wait func()
	// forsake is told of a file that changes in each round, and is watched no more.
	forsake func(path string)
	// gone reports whether nothing is at the path; nil for never.
	gone func(path string) bool

	during map[string]int // in how many rounds on end a path has changed
	own    map[string]bool
}

// run goes on until the context ends; the round that is held then is waited for.
func (r *rounds) run(ctx context.Context) {
	r.during, r.own = map[string]int{}, map[string]bool{}
	why := ""
	for {
		built := true
		if r.build != nil {
			r.meanwhile(func() { built = r.build(ctx) })
		}
		next := ""
		if built && ctx.Err() == nil {
			next = r.counted(r.meanwhile(func() { r.judge(ctx, why) }))
		}
		if next == "" {
			if ctx.Err() != nil {
				return
			}
			r.wait()
			if next = r.next(ctx); next == "" {
				return
			}
		}
		var still bool
		if why, still = r.settled(ctx, next); !still {
			return
		}
	}
}

// meanwhile does something, and returns what changed until it was done.
func (r *rounds) meanwhile(do func()) []string {
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	var out []string
	for {
		select {
		case path, open := <-r.changes:
			if r.counts(path, open) {
				out = append(out, path)
			}
		case <-done:
			return out
		}
	}
}

// counts reports whether the result of the changes is one of them, and not an effect of
// the rounds. Where nobody watches any more, none is waited for again.
func (r *rounds) counts(path string, open bool) bool {
	if !open {
		r.changes = nil
	}
	return open && !r.own[path]
}

// counted returns the first of what changed during a round that is no doing of
// the round itself, "" for none.
func (r *rounds) counted(changed []string) string {
	next, now := "", map[string]int{}
	for _, path := range changed {
		if now[path] > 0 {
			continue
		}
		now[path] = r.during[path] + 1
		if now[path] >= ownDoing {
			r.own[path] = true
			r.forsake(path)
		} else if next == "" || r.rather(next, path) {
			next = path
		}
	}
	r.during = now
	return next
}

// next waits for a change; "" where the context ends first.
func (r *rounds) next(ctx context.Context) string {
	for {
		select {
		case path, open := <-r.changes:
			if r.counts(path, open) {
				return path
			}
		case <-ctx.Done():
			return ""
		}
	}
}

// rather reports whether a change is better named by another path, since nothing
// is at the one any more: what an editor makes to put it in a file's place is
// named by the file.
func (r *rounds) rather(path, other string) bool {
	return r.gone != nil && r.gone(path) && !r.gone(other)
}

// settled waits until nothing has changed for a while; false where the context
// ends first.
func (r *rounds) settled(ctx context.Context, why string) (string, bool) {
	timer := time.NewTimer(r.settle)
	defer timer.Stop()
	for {
		select {
		case path, open := <-r.changes:
			if !r.counts(path, open) {
				continue
			}
			timer.Reset(r.settle)
			if r.rather(why, path) {
				why = path
			}
		case <-timer.C:
			return why, true
		case <-ctx.Done():
			return why, false
		}
	}
}
