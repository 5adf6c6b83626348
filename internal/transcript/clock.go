package transcript

import (
	"context"
	"sync"
	"time"
)

// A Clock is a clock that is stopped while the client delays requests, most often because of the
// server's rate limit. Waits for the server are measured with it, so that such delays do not make
// the server look slow. The zero value is running.
type Clock struct {
	mu    sync.Mutex
	holds int
	since time.Time // when holds became positive
	held  time.Duration
}

// Hold stops the clock until release is called; several holds may overlap.
func (c *Clock) Hold() (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds++; c.holds == 1 {
		c.since = time.Now()
	}
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.holds--; c.holds == 0 {
			c.held += time.Since(c.since)
		}
	})
}

// HeldTime returns for how long the clock has been stopped in total.
func (c *Clock) HeldTime() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds > 0 {
		return c.held + time.Since(c.since)
	}
	return c.held
}

// heldPoll is the interval at which a timeout is checked again while the clock is stopped.
const heldPoll = 5 * time.Millisecond

// WithTimeout is like context.WithTimeoutCause, but measures the time with this clock.
func (c *Clock) WithTimeout(ctx context.Context, limit time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	began := c.Moment()
	var mu sync.Mutex
	mu.Lock()
	defer mu.Unlock()
	var timer *time.Timer
	timer = time.AfterFunc(limit, func() {
		mu.Lock()
		defer mu.Unlock()
		if left := limit - c.Since(began); left > 0 && ctx.Err() == nil {
			timer.Reset(max(left, heldPoll))
			return
		}
		cancel(cause)
	})
	return ctx, func() {
		cancel(nil)
		timer.Stop()
	}
}

// Since returns the time by this clock since a moment that Moment returned.
func (c *Clock) Since(m Moment) time.Duration { return time.Since(m.at) - (c.HeldTime() - m.held) }

// A Moment is a point in time of a Clock.
type Moment struct {
	at   time.Time
	held time.Duration
}

// Moment returns the current time.
func (c *Clock) Moment() Moment { return Moment{time.Now(), c.HeldTime()} }

type clockKey struct{}

// WithClock returns a context for HTTP requests outside of a conversation. The clock is stopped
// while a rate limit delays these requests.
func WithClock(ctx context.Context, c *Clock) context.Context {
	return context.WithValue(ctx, clockKey{}, c)
}

// ClockOf returns the clock that WithClock put into the context, or a new one if there is none.
func ClockOf(ctx context.Context) *Clock {
	if c, ok := ctx.Value(clockKey{}).(*Clock); ok {
		return c
	}
	return &Clock{}
}
