package cancellation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// capacityCheck measures a slow tool before any of its calls is cancelled, to check afterwards
// whether the tool still works, because a server may never release the resources of a cancelled
// call.
type capacityCheck struct {
	c        *client.Conversation
	from     int
	brief    inventory.KnownCall
	duration time.Duration // of a single call
	works    bool          // two concurrent calls, and then a single one, were answered
}

// The duration of a call that is not cancelled, and the maximum time that the client waits for such
// a call after others were cancelled.
const (
	briefDuration = 20 * time.Millisecond
	maxWait       = 30 * time.Second
)

// newCapacityCheck makes two concurrent calls of the tool, and then a single one.
func newCapacityCheck(ctx context.Context, t *suite.T, c *client.Conversation) *capacityCheck {
	brief, _ := t.Inventory.SlowCall(briefDuration, 2)
	a := &capacityCheck{c: c, from: c.Record.Len(), brief: brief}
	defer c.BeginIdle()()
	for _, r := range c.DoAll(ctx, [][]byte{a.callFrame(), a.callFrame()}, client.Within(0)) {
		if !r.Succeeded() {
			return a
		}
	}
	if r := c.Do(ctx, spec.MethodToolsCall, brief.ParamsWithToken("mcp-conform/capacity/single"), client.Within(0)); r.Succeeded() {
		a.works, a.duration = true, r.Event.At-r.Sent.At
	}
	return a
}

// callFrame returns a call with a progress token, like the later call that it is compared with.
func (a *capacityCheck) callFrame() []byte {
	id := a.c.NewID()
	return a.c.Request(id, spec.MethodToolsCall, a.brief.ParamsWithToken("mcp-conform/capacity/"+id.Raw()))
}

// limit returns how long a call may take now, if all earlier calls run to their end first.
func (a *capacityCheck) limit() time.Duration {
	calls := 0
	for _, m := range transcript.Messages(a.c.Record.From(a.from), transcript.Sent) {
		if m.Kind == wire.Request && m.Method == spec.MethodToolsCall {
			calls++
		}
	}
	return max(3*a.duration, a.c.Options().Timeout) + time.Duration(calls)*(a.duration+duration)
}

// judgeLaterCall makes another single call, and reports a deviation if the call gets no response
// although the server still serves other requests. It does nothing if the tool did not work
// before, or if c is no longer the conversation in which it did.
func (a *capacityCheck) judgeLaterCall(ctx context.Context, t *suite.T, c *client.Conversation) {
	if !a.works || c != a.c || ctx.Err() != nil || !c.Alive() {
		return
	}
	limit := a.limit()
	if limit > maxWait {
		t.MarkNotObserved(raceHandled, "the tool takes too long for mcp-conform to wait for all cancelled calls")
		return
	}
	id, from := startCall(ctx, t, c, a.brief)
	r := c.AwaitResponse(ctx, from, id, client.Within(limit))
	switch {
	case r.Answered():
		t.MarkKept(raceHandled)
	case errors.Is(r.Err, client.ErrUnanswered) && ctx.Err() == nil && c.Fence(ctx) == nil:
		t.Report(c, verdict.Deviation{
			Requirement: raceHandled,
			Summary:     "The server's tool stops answering after some cancelled calls.",
			Permitted:   "a response to each call after the cancelled ones",
			Seen:        fmt.Sprintf("no answer in %v; before the cancellations a call took %v", limit.Round(time.Millisecond), a.duration.Round(time.Millisecond)),
			At:          transcript.Positions(lastCancellation(c, a.from), c.RequestSent(from, id)),
		})
		_ = c.Cancel(ctx, id, transcript.JudgedReason)
	}
}

// lastCancellation returns the last notification since the given position that cancels a request, or
// nil.
func lastCancellation(c *client.Conversation, from int) *transcript.Event {
	var last *transcript.Event
	for e, m := range transcript.Messages(c.Record.From(from), transcript.Sent) {
		if m.Method == spec.MethodCancelled {
			last = e
		}
	}
	return last
}
