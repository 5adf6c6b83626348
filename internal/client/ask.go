package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Reply is what came of a request.
type Reply struct {
	Sent    *transcript.Event // nil when it could not be sent
	Event   *transcript.Event // nil when no answer came
	Message *wire.Message     // nil when no answer came, or one that was too long to be kept
	// Err is nil when an answer came, else ErrUnanswered, ErrStarting, ErrEnded, ErrCut, why
	// the request could not be sent, or the cause for which the caller's context
	// ended before anything could be said of the server.
	Err error
}

// Answered tells whether an answer came, be it a result or an error.
func (r *Reply) Answered() bool { return r.Message != nil }

// Busy tells whether the answer is an error by which the server says that it has
// no time now, as where a limit of rate is reached: it would say so of any
// request, and it says nothing on the matter of this one.
func (r *Reply) Busy() bool { return r.Answered() && r.Message.IsError() && r.Message.Busy() }

// Positions returns where the request and its answer stand in the record, as
// far as there are any.
func (r *Reply) Positions() []int { return transcript.Positions(r.Sent, r.Event) }

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
	return c.AskRaw(ctx, id, c.Request(id, method, params))
}

// AskRaw sends a frame as it is and waits for the answer with the given id.
func (c *Conversation) AskRaw(ctx context.Context, id wire.ID, frame []byte) *Reply {
	limit, started := c.opts.Pace.limit(c.opts.Timeout), c.Started()
	r := c.exchange(ctx, limit, id, frame)
	if limit == c.opts.Timeout { // else it got less than it is owed
		c.gaveUp(r)
	}
	if started { // else the time includes that of the start
		c.measure(r)
	}
	return r
}

// Try asks for something that runs code of the server's author, which may take
// as long as it likes: a request without an answer within the timeout is
// cancelled, as a client should, and held against nobody.
func (c *Conversation) Try(ctx context.Context, method string, params map[string]any) *Reply {
	return c.TryFor(ctx, c.opts.Timeout, method, params)
}

// TryFor is Try with a shorter timeout, for who asks for much.
func (c *Conversation) TryFor(ctx context.Context, limit time.Duration, method string, params map[string]any) *Reply {
	id := c.NewID()
	r := c.exchange(ctx, min(limit, c.opts.Pace.limit(c.opts.Timeout)), id, c.Request(id, method, params))
	if errors.Is(r.Err, ErrUnanswered) {
		_ = c.Cancel(ctx, id, transcript.OverdueReason)
	}
	return r
}

// exchange sends a frame and waits for the answer with the given id, for
// limit at most.
func (c *Conversation) exchange(ctx context.Context, limit time.Duration, id wire.ID, frame []byte) *Reply {
	ctx, cancel := c.within(ctx, limit, opens(frame))
	defer cancel()
	defer c.owe()()
	from := c.Record.Len()
	if err := c.send(ctx, frame); err != nil {
		return &Reply{Err: c.sendError(ctx, err)}
	}
	r := c.awaitAnswer(ctx, from, id, frame)
	r.Sent = c.sent(from, frame)
	return r
}

// awaitAnswer is AwaitReply for the answer that is owed to the frame.
func (c *Conversation) awaitAnswer(ctx context.Context, from int, id wire.ID, frame []byte) *Reply {
	return replyTo(id, func(match func(*transcript.Event) bool) (*transcript.Event, error) {
		return c.awaitOwed(ctx, from, frame, c.elsewhere, match)
	})
}

// owe counts a request that is about to be sent, and waited for, until the
// function that it returns is called.
func (c *Conversation) owe() (done func()) {
	c.waiting.Add(1)
	return func() { c.waiting.Add(-1) }
}

// awaitOwed is Await for an answer that is owed to the frame. A response with
// an id that nobody sent is most likely that answer, come back with another id,
// when no other is waited for: then the right one has only the grace left to
// come. Where the HTTP exchange that carried the frame is over, it has until
// elsewhere returns.
func (c *Conversation) awaitOwed(ctx context.Context, from int, frame []byte, elsewhere func(context.Context), match func(*transcript.Event) bool) (*transcript.Event, error) {
	ctx, giveUp := context.WithCancelCause(ctx)
	var looking sync.WaitGroup
	defer looking.Wait()
	defer giveUp(nil)
	within := func(left time.Duration, look func(context.Context)) {
		looking.Go(func() {
			ctx, enough := context.WithTimeout(ctx, left)
			defer enough()
			look(ctx)
			giveUp(ErrUnanswered)
		})
	}
	short := false
	return c.Await(ctx, from, func(e *transcript.Event) bool {
		if match(e) {
			c.barren.Store(0)
			return true
		}
		if echoes(e, frame) { // by a terminal, before which a server may start; more likely there is none
			within(c.opts.Timeout, silence)
			return false
		}
		over := c.fruitless(e, from, frame)
		if over {
			c.barren.Add(1)
		}
		if short || !over && (c.waiting.Load() != 1 || !c.stray(e)) {
			return false
		}
		short = true
		look := silence
		if over && e.How == transcript.Complete { // one that broke may tell of the end of the server, which comes now
			look = elsewhere
		}
		within(c.Grace()-(c.Record.Elapsed()-e.At), look) // it may have come while another answer was waited for
		return false
	})
}

// echoes reports whether what was received is the frame itself.
func echoes(e *transcript.Event, frame []byte) bool {
	return e.Kind == transcript.Received && e.Exchange == 0 && bytes.Equal(bytes.TrimSpace(e.Raw), frame)
}

// silence waits for the end of the grace.
func silence(ctx context.Context) { <-ctx.Done() }

// stray tells whether the event holds a response with an id that nobody sent,
// or a result without one.
func (c *Conversation) stray(e *transcript.Event) bool {
	if e.Kind != transcript.Received {
		return false
	}
	for i := range e.Messages() {
		m := &e.Frame.Messages[i]
		if m.Kind != wire.Response {
			continue
		}
		if m.ID.Present() && !m.ID.IsNull() {
			if !c.knows(m.ID) {
				return true
			}
		} else if m.Has("result") { // an error without an id may be about something else
			return true
		}
	}
	return false
}

// knows tells whether anything with the id was sent.
func (c *Conversation) knows(id wire.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sentIDs == nil {
		c.sentIDs = map[string]bool{}
	}
	for _, e := range c.Record.From(c.sentUpTo) {
		c.sentUpTo = e.Seq + 1
		if e.Kind != transcript.Sent {
			continue
		}
		for i := range e.Frame.Messages {
			c.sentIDs[e.Frame.Messages[i].ID.Key()] = true
		}
	}
	return c.sentIDs[id.Key()]
}

// Probe sends a frame to which a server may well stay silent, and settles for
// the answer with the given id, as Settle does.
func (c *Conversation) Probe(ctx context.Context, id wire.ID, frame []byte) *Reply {
	from := c.Record.Len()
	if err := c.send(ctx, frame); err != nil {
		return &Reply{Err: c.sendError(ctx, err)}
	}
	r := c.Settle(ctx, from, id)
	r.Sent = c.sent(from, frame)
	c.gaveUp(r)
	return r
}

// AwaitReply waits for the response with the given id among the events from
// position from on, as long as ctx allows: the reply's error is ErrUnanswered
// where that is the context's cause. Sent is not filled in.
func (c *Conversation) AwaitReply(ctx context.Context, from int, id wire.ID) *Reply {
	return replyTo(id, func(match func(*transcript.Event) bool) (*transcript.Event, error) {
		return c.Await(ctx, from, match)
	})
}

// AwaitReplyFor is AwaitReply for limit at most, and for the time of a start
// where the server may still be starting.
func (c *Conversation) AwaitReplyFor(ctx context.Context, limit time.Duration, from int, id wire.ID) *Reply {
	ctx, cancel := c.within(ctx, limit, false)
	defer cancel()
	return c.AwaitReply(ctx, from, id)
}

// ListenFor is AwaitReplyFor where the answer may take its time, or should not
// come: others may work from the first moment on.
func (c *Conversation) ListenFor(ctx context.Context, limit time.Duration, from int, id wire.ID) *Reply {
	defer c.Idle()()
	return c.AwaitReplyFor(ctx, limit, from, id)
}

// replyTo makes a reply of the response with the given id that await finds.
func replyTo(id wire.ID, await func(match func(*transcript.Event) bool) (*transcript.Event, error)) *Reply {
	var m *wire.Message
	e, err := await(func(e *transcript.Event) bool {
		m = response(e, id)
		return m != nil
	})
	switch {
	case err == nil && e.Cut():
		return &Reply{Event: e, Err: ErrCut}
	case err == nil:
		return &Reply{Event: e, Message: m}
	case errors.Is(err, ErrUnanswered), errors.Is(err, ErrEnded), errors.Is(err, ErrStarting):
		return &Reply{Err: err}
	default:
		return &Reply{Err: fmt.Errorf("the wait for the answer was cut off: %w", err)}
	}
}

// response returns the response with the given id that the event holds, or nil.
// The body of an HTTP response that broke off is none, whatever it holds: no
// client would get to see it.
func response(e *transcript.Event, id wire.ID) *wire.Message {
	if e.Kind != transcript.Received || e.Exchange > 0 && e.Stream == nil && e.Unterminated {
		return nil
	}
	for i := range e.Messages() {
		if m := &e.Frame.Messages[i]; m.Kind == wire.Response && m.ID.Same(id) {
			return m
		}
	}
	return nil
}

// Fence proves that the server has read everything sent so far: it sends a
// request and waits for any answer to it. An error means that nothing can be
// said of what did not come.
func (c *Conversation) Fence(ctx context.Context) error {
	return c.fenceUnless(ctx, c.Record.Len(), func(*transcript.Event) bool { return false })
}

// fenceTime bounds the wait for a fence: twenty times the slowest answer of
// this server so far, at least 3 s, and no more than the timeout; less once one
// was waited for in vain. It is less than a request is owed, so that a deaf
// server does not cost the whole timeout each time; who wants to be sure is
// thorough.
func (c *Conversation) fenceTime() time.Duration {
	if c.opts.Thorough {
		return c.opts.Pace.limit(c.opts.Timeout)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opts.Pace.fence(min(max(3*time.Second, 20*c.slowest), c.opts.Timeout), c.opts.Timeout)
}

// fenceError takes any answer for good, be it an error or too long to be kept.
func fenceError(r *Reply) error {
	if errors.Is(r.Err, ErrCut) {
		return nil
	}
	return r.Err
}

// Quiet is the proof of absence: a fence, then nothing for the grace. What
// came up to its end stands in the record. An error means that nothing can
// be said of what did not come.
func (c *Conversation) Quiet(ctx context.Context) error {
	if err := c.Fence(ctx); err != nil {
		return err
	}
	if c.opts.Enough != nil && c.opts.Enough() {
		return ErrEnough
	}
	resume := c.Idle()
	defer resume()
	select {
	case <-time.After(c.Grace()):
		c.silent.Store(int64(c.Record.Len()))
		return nil
	case <-c.link.Ended():
		return nil // more silence than this can't be had
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Rest is Quiet for who is at the end of all that was asked in the
// conversation: it waits for nothing where neither side has said anything
// since the last proof of absence.
func (c *Conversation) Rest(ctx context.Context) error {
	if from := c.silent.Load(); from > 0 {
		since := c.Record.From(int(from))
		if !slices.ContainsFunc(since, func(e *transcript.Event) bool { return e.Kind != transcript.Remark }) {
			return nil
		}
	}
	return c.Quiet(ctx)
}

// sendError prefers to say that the server is gone over saying that the
// bytes could not be written.
func (c *Conversation) sendError(ctx context.Context, err error) error {
	if ctx.Err() == nil && !errors.Is(err, ErrUnanswered) && !errors.Is(err, ErrStarting) {
		// Of a server that ends, the input may be seen to close before the output.
		grace := time.NewTimer(c.Grace())
		defer grace.Stop()
		select {
		case <-c.link.Ended():
		case <-grace.C:
		case <-ctx.Done():
		}
	}
	if !c.Alive() {
		return ErrEnded
	}
	return err
}

// sent returns the event that shows the sending of frame, at position from or
// later. Others may have sent something meanwhile; and a frame with a newline
// in it is as many events.
func (c *Conversation) sent(from int, frame []byte) *transcript.Event {
	line, _, _ := bytes.Cut(frame, []byte("\n"))
	for _, e := range c.Record.From(from) {
		if e.Kind == transcript.Sent && (bytes.Equal(e.Raw, frame) || bytes.Equal(e.Raw, line)) {
			return e
		}
	}
	return nil
}

// gaveUp records that an answer was not waited for any longer, where that is
// the server's doing and not the caller's: a server without a fence was given
// less time than an answer is owed.
func (c *Conversation) gaveUp(r *Reply) {
	if r.Sent != nil && errors.Is(r.Err, ErrUnanswered) && !errors.Is(r.Err, ErrNoFence) && !c.intercepted(r.Sent) {
		c.Record.Add(transcript.Event{Kind: transcript.GaveUp, Of: r.Sent.Seq})
		c.opts.Pace.miss()
	}
}

// intercepted tells whether somebody else than the server answered for it.
func (c *Conversation) intercepted(sent *transcript.Event) bool {
	x := transcript.ExchangesOf(c.Record.From(0)).Of(sent)
	return x != nil && x.Intercepted()
}

func (c *Conversation) measure(r *Reply) {
	if r.Answered() && r.Sent != nil {
		c.took(r.Event.At - r.Sent.At)
	}
}
