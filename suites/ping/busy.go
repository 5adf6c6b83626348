package ping

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

const burstSize = 20

func burst(ctx context.Context, t *suite.T) {
	c := listening(ctx, t)
	pings := make([][]byte, c.Burst(burstSize, c.Request(c.NewID(), spec.MethodPing, nil)))
	for i := range pings {
		pings[i] = c.Request(c.NewID(), spec.MethodPing, nil)
	}
	for _, r := range c.AskTogether(ctx, pings...) {
		if !asked(ctx, t, c, r) {
			return
		}
	}
}

// How long the tool takes beside which is pinged, and in how many steps.
const (
	busyTime  = 300 * time.Millisecond
	busySteps = 6
)

// whileBusy pings after the tool's first progress, which shows that it runs.
func whileBusy(ctx context.Context, t *suite.T) {
	t.Needs(inventory.Slow)
	slow, _ := t.Inventory.Slow(busyTime, busySteps)
	c := listening(ctx, t)
	id, from := c.NewID(), c.Record.Len()
	if err := c.Send(ctx, c.Request(id, spec.MethodToolsCall, slow.WithToken("mcp-conform-busy"))); err != nil {
		t.GiveUp("the tool could not be called: " + err.Error())
	}
	wait, cancel := context.WithTimeoutCause(ctx, c.Options().Timeout, client.ErrUnanswered)
	defer cancel()
	if !suite.Running(ctx, c, from, id) {
		t.GiveUp("the tool was not seen to be running: it reported no progress")
	}
	asked(ctx, t, c, c.Ask(ctx, spec.MethodPing, nil))
	// The conversation is shared: it is left with nothing in flight.
	defer c.Idle()()
	c.AwaitReply(wait, from, id)
}
