package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Settle waits for the answer with the given id among the events from
// position from on, as SettleFor does. Sent is not filled in.
func (c *Conversation) Settle(ctx context.Context, from int, id wire.ID) *Reply {
	return replyTo(id, func(match func(*transcript.Event) bool) (*transcript.Event, error) {
		return c.SettleFor(ctx, from, match)
	})
}

// SettleFor waits for an event at position from or later for which match is
// true, which is called once an event. It sends a fence, and waits no longer
// than for that and the grace after it; the answer to the fence is not waited
// for when the event comes first. Where it did not come, the error is
// ErrUnanswered, which is ErrNoFence, too, when the fence had no answer either.
func (c *Conversation) SettleFor(ctx context.Context, from int, match func(*transcript.Event) bool) (*transcript.Event, error) {
	next := from // the first event that match has not seen
	var found *transcript.Event
	fence := c.fenceUnless(ctx, from, func(e *transcript.Event) bool {
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
	grace, cancel := context.WithTimeoutCause(ctx, c.patienceFor(fence), ErrUnanswered)
	defer cancel()
	defer c.Idle()()
	e, err := c.Await(grace, next, match)
	if fence != nil && errors.Is(err, ErrUnanswered) {
		err = fmt.Errorf("%w, and %w", ErrUnanswered, ErrNoFence)
	}
	return e, err
}

// fenceUnless is Fence that ends as soon as stop is true for an event at
// position from or later.
func (c *Conversation) fenceUnless(ctx context.Context, from int, stop func(*transcript.Event) bool) error {
	started := c.Started()
	ctx, cancel := c.within(ctx, c.fenceTime(), false)
	defer cancel()
	defer c.owe()()
	id := c.NewID()
	frame := c.Request(id, c.Harmless(), nil)
	behind := c.Record.Len()
	if err := c.send(ctx, frame); err != nil {
		return c.sendError(ctx, err)
	}
	stopped := false
	r := replyTo(id, func(answers func(*transcript.Event) bool) (*transcript.Event, error) {
		return c.awaitOwed(ctx, from, frame, silence, func(e *transcript.Event) bool {
			stopped = stop(e)
			return stopped || e.Seq >= behind && answers(e)
		})
	})
	if stopped {
		return nil
	}
	r.Sent = c.sent(behind, frame)
	if started {
		c.measure(r)
	}
	switch {
	case !errors.Is(r.Err, ErrUnanswered):
	case c.opts.Thorough:
		c.opts.Pace.miss()
	case ctx.Err() != nil: // the whole wait, and nothing that made it shorter
		c.opts.Pace.missFence()
	}
	return fenceError(r)
}

// patienceFor is longer than Grace: an answer that is owed may take its time.
func (c *Conversation) patienceFor(fence error) time.Duration {
	if fence != nil {
		return c.Grace()
	}
	return max(500*time.Millisecond, 2*c.Grace())
}
