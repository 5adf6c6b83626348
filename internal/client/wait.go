package client

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// idleAfter is how long a wait for the server counts as work. A server that
// responds sooner most likely uses the processor; one that takes longer most likely
// waits itself.
const idleAfter = 10 * time.Millisecond

// Pause waits for the given time, or until ctx ends. It releases the caller's slot meanwhile.
func (c *Conversation) Pause(ctx context.Context, d time.Duration) {
	defer c.BeginIdle()()
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// BeginWait begins a wait for the server; the returned function ends it. If the wait lasts longer
// than idleAfter, the slot of the caller is released, as in BeginIdle. The slot stays acquired
// while a server over stdio has sent nothing yet, because it may be starting, which is work.
func (c *Conversation) BeginWait() (over func()) {
	if c.Web() == nil && !c.hasSpoken.Load() {
		return func() {}
	}
	var mu sync.Mutex
	var resume func()
	ended := false
	timer := time.AfterFunc(idleAfter, func() {
		mu.Lock()
		defer mu.Unlock()
		if !ended {
			resume = c.BeginIdle()
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		ended = true
		if resume != nil {
			resume()
		}
	}
}

// send writes frames. Over HTTP that may take until the server has responded to
// the POST.
func (c *Conversation) send(ctx context.Context, frames ...[]byte) error {
	defer c.BeginWait()()
	return c.link.Send(ctx, frames...)
}

// sendWithin is like send, but for frames whose responses the caller awaits later, if at all. Over
// HTTP the server has as long to respond to a POST as to a JSON-RPC request. A POST without a
// response is not an error here, because later requests show whether the server still responds.
func (c *Conversation) sendWithin(ctx context.Context, frames ...[]byte) error {
	if c.Web() == nil || len(frames) == 0 {
		return c.send(ctx, frames...)
	}
	limit := c.opts.Pace.requestLimit(&c.opts)
	bounded, cancel := c.boundWait(ctx, limit, hasOpeningRequest(frames...))
	defer cancel()
	from := c.Record.Len()
	err := c.send(bounded, frames...)
	if !errors.Is(err, ErrUnanswered) || ctx.Err() != nil {
		return err
	}
	sent := c.sentEvent(from, frames[len(frames)-1])
	if sent == nil {
		return err
	}
	if !hasRequest(sent) { // a request may take longer
		c.addGaveUp(limit, sent)
	}
	return nil
}

// hasRequest reports whether a request is among the messages of e.
func hasRequest(e *transcript.Event) bool {
	return slices.ContainsFunc(e.Messages(), func(m wire.Message) bool { return m.Kind == wire.Request })
}

// RecordUnresponded records that an HTTP exchange that the caller made got no complete response
// within its time. It records nothing unless the server responds to another request, because
// otherwise the server may only be slow.
func (c *Conversation) RecordUnresponded(ctx context.Context, x *transcript.Exchange) {
	if x == nil || x.Request == nil || x.Response != nil && x.IsStream() || x.HowEnded() != transcript.Dropped || c.Fence(ctx) != nil {
		return
	}
	c.Record.Add(transcript.Event{Kind: transcript.GaveUp, Of: x.Request.Seq})
}
