package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// awaitWithFence waits for an event at or after the given position for which match is true; match
// is called once for each event. It sends a fence, and waits until the fence has got its response
// and, after that, the time that graceAfter returns has passed. If the event does not come by then,
// the error is ErrUnanswered; if the fence failed too, the error also wraps ErrNoFence.
func (c *Conversation) awaitWithFence(ctx context.Context, from int, match func(*transcript.Event) bool) (*transcript.Event, error) {
	next := from // the first event that match has not seen
	var found *transcript.Event
	fence := c.fenceUnless(ctx, c.boundFence, from, func(e *transcript.Event) bool {
		next = e.Seq + 1
		if match(e) {
			found = e
		}
		return found != nil
	})
	switch {
	case found != nil:
		return found, nil
	case errors.Is(fence, ErrEnded) && next > from:
		return nil, ErrEnded
	}
	grace, cancel := c.Record.WithTimeout(ctx, c.graceAfter(fence), ErrUnanswered)
	defer cancel()
	defer c.BeginIdle()()
	e, err := c.await(grace, next, match)
	if fence != nil && errors.Is(err, ErrUnanswered) {
		err = fmt.Errorf("%w, and %w", ErrUnanswered, ErrNoFence)
	}
	return e, err
}

// maxFences limits how many fences fenceUnless sends.
const maxFences = 5

// fenceUnless is like Fence, but ends as soon as stop is true for an event at or after the given
// position. If the server's rate limit refused a request meanwhile, that request is sent again,
// possibly after the fence, so the fence is repeated, too.
func (c *Conversation) fenceUnless(ctx context.Context, bound boundFunc, from int, stop func(*transcript.Event) bool) error {
	stopped := false
	for fences := 1; ; fences++ {
		retracted := c.Record.CountRetracted()
		err := c.fenceOnce(ctx, bound, from, func(e *transcript.Event) bool {
			from, stopped = e.Seq+1, stop(e)
			return stopped
		})
		if err != nil || stopped || fences == maxFences || c.Record.CountRetracted() == retracted {
			return err
		}
	}
}

// boundFunc bounds the wait for the response to a fence.
type boundFunc func(context.Context) (context.Context, context.CancelFunc)

func (c *Conversation) boundFence(ctx context.Context) (context.Context, context.CancelFunc) {
	return c.boundWait(ctx, c.fenceTime(), false)
}

// fenceOnce is like fenceUnless, but sends only one fence.
func (c *Conversation) fenceOnce(ctx context.Context, bound boundFunc, from int, stop func(*transcript.Event) bool) error {
	started := c.HasStarted()
	ctx, cancel := bound(ctx)
	defer cancel()
	defer c.countWaiting()()
	id := c.NewID()
	frame := c.Request(id, c.HarmlessMethod(), nil)
	after := c.Record.Len()
	if err := c.send(ctx, frame); err != nil {
		return c.sendError(ctx, err)
	}
	stopped := false
	r := replyTo(id, func(answers func(*transcript.Event) bool) (*transcript.Event, error) {
		return c.awaitResponseTo(ctx, from, frame, awaitEnd, func(e *transcript.Event) bool {
			stopped = stop(e)
			return stopped || e.Seq >= after && answers(e)
		})
	})
	if stopped {
		return nil
	}
	r.Sent = c.sentEvent(after, frame)
	if started {
		c.measureResponse(r)
	}
	if errors.Is(r.Err, ErrUnanswered) {
		c.missedFence.Store(int64(c.Record.Len()))
		switch {
		case c.opts.Thorough:
			c.opts.Pace.noteMissedLongFence()
		case ctx.Err() != nil: // the fence had its full time
			c.opts.Pace.noteMissedFence()
		}
	}
	return fenceError(r)
}

// graceAfter returns the grace after a fence: how long to wait for the awaited message. The
// argument is the fence's error, or nil. After a successful fence the time is longer than Grace,
// because the awaited message may take longer than the response to the fence.
func (c *Conversation) graceAfter(fence error) time.Duration {
	if fence != nil {
		return c.Grace()
	}
	return max(500*time.Millisecond, 2*c.Grace())
}

// Fence proves that the server has read everything sent so far: it sends a request and waits for
// any response. If Fence returns an error, the absence of messages shows nothing.
func (c *Conversation) Fence(ctx context.Context) error {
	return c.fence(ctx, c.boundFence)
}

// FenceIdle is like Fence, but for a server that has nothing else to do, and so can be slow only
// because the machine is busy. With Options.Thorough, FenceIdle starts another server for
// comparison (the control) once the time that usualFenceTime returns has passed. If the control
// responds, FenceIdle waits little longer.
func (c *Conversation) FenceIdle(ctx context.Context) error {
	if !c.opts.Thorough || c.opts.Starts == nil || !c.HasStarted() {
		return c.Fence(ctx)
	}
	return c.fence(ctx, func(ctx context.Context) (context.Context, context.CancelFunc) {
		return c.boundByControl(ctx, c.usualFenceTime())
	})
}

func (c *Conversation) fence(ctx context.Context, bound boundFunc) error {
	return c.fenceUnless(ctx, bound, c.Record.Len(), func(*transcript.Event) bool { return false })
}

// fenceTime returns how long to wait for the response to a fence: twenty times the slowest response
// of this server so far, at least 3 s and at most the timeout. Once a fence has timed out, later
// fences have less time, possibly less than 3 s. A fence has less time than other requests, so that
// an unresponsive server does not cost the whole timeout each time. With Options.Thorough it has as
// much as other requests.
func (c *Conversation) fenceTime() time.Duration {
	if c.opts.Thorough {
		return c.opts.Pace.extraLimit(c.opts.Timeout)
	}
	return c.usualFenceTime()
}

// usualFenceTime is like fenceTime, but ignores Options.Thorough.
func (c *Conversation) usualFenceTime() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opts.Pace.fenceLimit(min(max(3*time.Second, 20*c.slowest), c.opts.Timeout), c.opts.Timeout)
}

// fenceError returns why the fence failed, or nil. Any response is a success, even an error or one
// that is too long to be kept.
func fenceError(r *Reply) error {
	if errors.Is(r.Err, ErrTooLong) {
		return nil
	}
	return r.Err
}

// AwaitQuiet proves that nothing more comes: it sends a fence and then waits for the time that
// Grace returns. When it returns nil, all messages that came until then are in the record. It does
// not wait if neither the client nor the server has sent anything since the last such proof. If it
// returns an error, the absence of messages shows nothing.
func (c *Conversation) AwaitQuiet(ctx context.Context) error {
	if from := c.quietUpTo.Load(); from > 0 {
		since := c.Record.From(int(from))
		if !slices.ContainsFunc(since, func(e *transcript.Event) bool { return e.Kind != transcript.Remark && e.Kind != transcript.CaseBegan }) {
			return nil
		}
	}
	if err := c.Fence(ctx); err != nil {
		return err
	}
	if c.opts.ShouldSkipQuiet != nil && c.opts.ShouldSkipQuiet() {
		return ErrQuietSkipped
	}
	resume := c.BeginIdle()
	defer resume()
	grace, cancel := c.Record.WithTimeout(ctx, c.Grace(), ErrUnanswered)
	defer cancel()
	select {
	case <-grace.Done():
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.quietUpTo.Store(int64(c.Record.Len()))
		return nil
	case <-c.link.Ended():
		return nil // the link has ended: no more messages can come
	}
}
