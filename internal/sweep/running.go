package sweep

import (
	"context"
	"slices"
	"time"
)

// A Running is a server that is being judged, or that was being judged when the sweep was
// interrupted.
type Running struct {
	Name string
	For  time.Duration // how long it has been judged
}

// runningServers are the servers that are being judged, in the order in which they were started.
type runningServers []startedServer

type startedServer struct {
	entry *Entry
	began time.Time
}

// running returns the server and how long it has been judged.
func (s startedServer) running() Running { return Running{s.entry.Name, time.Since(s.began)} }

// list returns the servers and how long each has been judged.
func (r runningServers) list() []Running {
	var out []Running
	for _, one := range r {
		out = append(out, one.running())
	}
	return out
}

// remove removes and returns the server of an entry.
func (r *runningServers) remove(e *Entry) Running {
	i := slices.IndexFunc(*r, func(one startedServer) bool { return one.entry == e })
	out := (*r)[i].running()
	*r = slices.Delete(*r, i, i+1)
	return out
}

const (
	// firstReport is how long no server starts or ends before the sweep reports the running ones.
	firstReport = 15 * time.Second
	// reportFactor determines when it reports them again: when reportFactor times as much time has
	// passed. The sweep of a slow server therefore writes few lines.
	reportFactor = 2
)

// A quietClock says when a sweep reports its running servers because none has started or ended for a
// while.
type quietClock struct {
	since time.Time // when the last server started or ended
	wait  time.Duration
}

// reset notes that a server has started or ended.
func (c *quietClock) reset(now time.Time) { *c = quietClock{now, firstReport} }

// next returns a channel that is ready when the servers are to be reported.
func (c *quietClock) next(now time.Time) <-chan time.Time {
	return time.After(c.since.Add(c.wait).Sub(now))
}

// reportRunning reports the running servers unless the context has ended, and sets the time of the
// next report.
func (s *supervisor) reportRunning(ctx context.Context, c *quietClock, running runningServers) {
	c.wait *= reportFactor
	if s.Waiting != nil && len(running) > 0 && ctx.Err() == nil {
		s.Waiting(running.list())
	}
}
