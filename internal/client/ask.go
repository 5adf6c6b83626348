package client

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Reply is what came of a request.
type Reply struct {
	Sent    *transcript.Event // nil when it could not be sent
	Event   *transcript.Event // nil when no answer came
	Message *wire.Message     // nil when no answer came
	Err     error             // ErrUnanswered, ErrEnded, or why it could not be sent
}

// Answered tells whether an answer came, be it a result or an error.
func (r *Reply) Answered() bool { return r.Message != nil }

// Succeeded tells whether the answer is a result.
func (r *Reply) Succeeded() bool {
	return r.Answered() && r.Message.Has("result") && !r.Message.IsError()
}

// Ask sends a request and waits for its answer, as long as the conversation's
// timeout allows. Params may be nil.
func (c *Conversation) Ask(ctx context.Context, method string, params map[string]any) *Reply {
	return c.AskID(ctx, c.NewID(), method, params)
}

// AskID is Ask with an id of the caller's choice.
func (c *Conversation) AskID(ctx context.Context, id wire.ID, method string, params map[string]any) *Reply {
	return c.AskRaw(ctx, id, wire.NewRequest(id, method, anyOrNil(c.params(params))))
}

// AskRaw sends a frame as it is and waits for the answer with the given id.
func (c *Conversation) AskRaw(ctx context.Context, id wire.ID, frame []byte) *Reply {
	ctx, cancel := context.WithTimeoutCause(ctx, c.opts.Timeout, ErrUnanswered)
	defer cancel()
	from := c.Record.Len()
	if err := c.link.Send(ctx, frame); err != nil {
		return &Reply{Err: c.sendError(err)}
	}
	r := c.AwaitReply(ctx, from, id)
	r.Sent = c.sentFrom(from)
	c.gaveUp(r)
	c.measure(r)
	return r
}

// Probe sends a frame to which a server may well stay silent, with a fence
// behind it. It returns the answer with the given id, or ErrUnanswered once
// the fence was answered and the grace has passed.
func (c *Conversation) Probe(ctx context.Context, id wire.ID, frame []byte) *Reply {
	from := c.Record.Len()
	if err := c.link.Send(ctx, frame); err != nil {
		return &Reply{Err: c.sendError(err)}
	}
	r := c.Settle(ctx, from, id)
	r.Sent = c.sentFrom(from)
	c.gaveUp(r)
	return r
}

// Settle waits for the answer with the given id among the events from
// position from on, no longer than a fence and the grace after it.
func (c *Conversation) Settle(ctx context.Context, from int, id wire.ID) *Reply {
	fence := c.Fence(ctx)
	grace, cancel := context.WithTimeoutCause(ctx, c.patienceFor(fence), ErrUnanswered)
	defer cancel()
	resume := c.Idle()
	defer resume()
	return c.AwaitReply(grace, from, id)
}

// patienceFor is longer than Grace: an answer that is owed may take its time.
func (c *Conversation) patienceFor(fence error) time.Duration {
	if fence != nil {
		return c.Grace()
	}
	return max(500*time.Millisecond, 2*c.Grace())
}

// AwaitReply waits for the response with the given id among the events from
// position from on.
func (c *Conversation) AwaitReply(ctx context.Context, from int, id wire.ID) *Reply {
	r := &Reply{}
	r.Event, r.Err = c.Await(ctx, from, func(e *transcript.Event) bool {
		if e.Kind != transcript.Received {
			return false
		}
		for i := range e.Frame.Messages {
			m := &e.Frame.Messages[i]
			if m.Kind == wire.Response && m.ID.Same(id) {
				r.Message = m
				return true
			}
		}
		return false
	})
	if r.Err != nil && !errors.Is(r.Err, ErrEnded) {
		r.Err = errors.Join(ErrUnanswered, r.Err)
	}
	return r
}

// Fence proves that the server has read everything sent so far: it sends a
// request and waits for any answer to it. An error means that nothing can be
// said of what did not come.
func (c *Conversation) Fence(ctx context.Context) error {
	method := spec.MethodPing
	if c.opts.Revision.Era() == spec.Stateless {
		method = spec.MethodDiscover
	}
	return c.Ask(ctx, method, nil).Err
}

// Quiet is the proof of absence: a fence, then nothing for the grace. What
// came up to its end stands in the record. An error means that nothing can
// be said of what did not come.
func (c *Conversation) Quiet(ctx context.Context) error {
	if err := c.Fence(ctx); err != nil {
		return err
	}
	resume := c.Idle()
	defer resume()
	select {
	case <-time.After(c.Grace()):
		return nil
	case <-c.link.Ended():
		return nil // more silence than this can't be had
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sendError prefers to say that the server is gone over saying that the
// bytes could not be written.
func (c *Conversation) sendError(err error) error {
	if !c.Alive() {
		return ErrEnded
	}
	return err
}

func (c *Conversation) sentFrom(from int) *transcript.Event {
	for _, e := range c.Record.From(from) {
		if e.Kind == transcript.Sent {
			return e
		}
	}
	return nil
}

// gaveUp records that an answer was not waited for any longer.
func (c *Conversation) gaveUp(r *Reply) {
	if r.Sent != nil && errors.Is(r.Err, ErrUnanswered) {
		c.Record.Add(transcript.Event{Kind: transcript.GaveUp, Of: r.Sent.Seq})
	}
}

func (c *Conversation) measure(r *Reply) {
	if r.Answered() && r.Sent != nil {
		c.took(r.Event.At - r.Sent.At)
	}
}

func splitDots(s string) []string { return strings.Split(s, ".") }
