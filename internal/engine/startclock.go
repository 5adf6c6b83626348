package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// starts implements client.Starts for the servers of one unit.
type starts struct {
	session  *session
	revision spec.Revision // a revision that the server is known to speak
	dialer   transport.Dialer
	clock    *caseClock // nil if the unit has no time limit
}

var errOneCopy = errors.New("one copy of the server runs at a time")

// BeginWait implements client.Starts. The time of a start does not count as time of the case.
func (s *starts) BeginWait() (over func()) { return s.clock.pause() }

// Slowest implements client.Starts.
func (s *starts) Slowest() time.Duration { return s.session.timing.slowest() }

// StartControl implements client.Starts. If the conversations share a process and a second one can
// run, the control gets a process of its own.
func (s *starts) StartControl(ctx context.Context) error {
	if s.session.gate.isSingle {
		return errOneCopy
	}
	dialer, stop := separateDialer(s.dialer)
	defer stop()
	conv, err := s.session.dialWith(ctx, dialer, s.session.o.clientOptions(s.revision))
	if err != nil {
		return err
	}
	reply := conv.Greet(ctx)
	s.session.discard(conv)
	if !reply.Answered() {
		return reply.Err
	}
	return nil
}

// hasFailedStart reports whether a server of the unit did not start: it could
// not be dialled, ended before it had responded to anything, or may still have
// been starting when the client gave up.
func (o *opener) hasFailedStart() bool {
	return o.undialed.Load() || slices.ContainsFunc(o.conversations(), func(c *client.Conversation) bool {
		return c.IsStartUnclear() || !c.HasStarted() && exitedAfterRequest(c.Record)
	})
}

// exitedAfterRequest reports whether the server ended by itself after the client had sent
// something.
func exitedAfterRequest(record *transcript.Transcript) bool {
	asked := false
	for _, e := range record.From(0) {
		switch e.Kind {
		case transcript.Sent:
			asked = true
		case transcript.InputClosed, transcript.Signalled:
			return false
		case transcript.OutputClosed, transcript.Exited:
			return asked
		}
	}
	return false
}

// A caseClock limits the time of a case. Neither the starts of servers nor the delays of requests
// by a rate limit count. A nil clock has no limit.
type caseClock struct {
	mu       sync.Mutex
	left     time.Duration
	since    time.Time // when the clock was started or resumed
	starting int       // servers that are starting now
	timer    *time.Timer
	heldTime func() time.Duration // how long a rate limit has delayed requests so far
	credited time.Duration        // how much of the delays was added to the limit
}

// newCaseClock returns a running clock that calls end once the limit has passed.
func newCaseClock(limit time.Duration, held func() time.Duration, end func()) *caseClock {
	c := &caseClock{left: limit, since: time.Now(), heldTime: held, credited: held()}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(limit, func() {
		if !c.extend() {
			end()
		}
	})
	return c
}

// extend adds to the limit the time by which requests were delayed since the last call, and reports
// whether there was any.
func (c *caseClock) extend() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	more := c.heldTime() - c.credited
	if more <= 0 || c.left <= 0 {
		return false
	}
	c.credited += more
	c.left, c.since = more, time.Now()
	if c.starting == 0 {
		c.timer.Reset(more)
	}
	return true
}

// pause stops the clock until resume is called; several pauses may overlap.
func (c *caseClock) pause() (resume func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.starting++; c.starting == 1 && c.timer.Stop() {
		c.left -= time.Since(c.since)
	}
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.starting--; c.starting == 0 && c.left > 0 {
			c.since = time.Now()
			c.timer.Reset(c.left)
		}
	})
}

// stop ends the clock. pause must not be called after it.
func (c *caseClock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = 0
	c.timer.Stop()
}

// restartTimeout returns how long a server that has started before may take to start again: three
// times as long as the slowest start so far, but at least the timeout of a request, and at most
// that of a start.
func (r *session) restartTimeout() time.Duration {
	most, least := cmp.Or(r.o.StartTimeout, client.DefaultStartTimeout), cmp.Or(r.o.Timeout, client.DefaultTimeout)
	return min(most, max(least, 3*r.timing.slowest()))
}

// ShowWaiting returns a Progress that shows only what the run waits for.
func ShowWaiting(show func(text string)) Progress { return showWaiting{show: show} }

type showWaiting struct {
	noProgress
	show func(text string)
}

// Waiting implements Progress.
func (w showWaiting) Waiting(text string) { w.show(text) }

// silentWait is how long a wait must last before ReportWaiting reports it.
const silentWait = 2 * time.Second

// ReportWaiting calls say every second, once silentWait has passed, with what the run waits for and
// how long it has waited. When stop is called, it calls say with "", if it has called say before.
// limit is the longest possible wait, or 0 if that is not known.
func ReportWaiting(what string, limit time.Duration, say func(text string)) (stop func()) {
	done := make(chan struct{})
	var saying sync.WaitGroup
	saying.Go(func() {
		began, ticker := time.Now(), time.NewTicker(time.Second)
		defer ticker.Stop()
		said := false
		for {
			select {
			case <-ticker.C:
				if waited := time.Since(began).Round(time.Second); waited >= silentWait {
					of := ""
					if limit > 0 {
						of = fmt.Sprintf(" of %d s", limit/time.Second)
					}
					say(fmt.Sprintf("waiting for %s (%d s%s)", what, waited/time.Second, of))
					said = true
				}
			case <-done:
				if said {
					say("")
				}
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		close(done)
		saying.Wait()
	})
}
