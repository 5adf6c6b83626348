package ping

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const burstSize = 20

func pingBurst(ctx context.Context, t *suite.T) {
	c := sharedConversation(ctx, t)
	pings := make([][]byte, c.BurstSize(burstSize, c.Request(c.NewID(), spec.MethodPing, nil)))
	for i := range pings {
		pings[i] = c.Request(c.NewID(), spec.MethodPing, nil)
	}
	for _, r := range c.DoAll(ctx, pings) {
		if !judgePing(ctx, t, c, r) {
			return
		}
	}
}

// Duration and number of steps of the tool that runs during the ping.
const (
	busyTime  = 300 * time.Millisecond
	busySteps = 6
)

// pingWhileBusy pings after the tool's first progress, which shows that it runs.
func pingWhileBusy(ctx context.Context, t *suite.T) {
	t.RequireTool(inventory.Slow)
	slow, _ := t.Inventory.SlowCall(busyTime, busySteps)
	c := sharedConversation(ctx, t)
	id, from := c.NewID(), c.Record.Len()
	if err := c.Send(ctx, c.Request(id, spec.MethodToolsCall, slow.ParamsWithToken("mcp-conform-busy"))); err != nil {
		t.GiveUp("mcp-conform could not call the tool: " + err.Error())
	}
	wait, cancel := c.Record.WithTimeout(ctx, c.Options().Timeout, client.ErrUnanswered)
	defer cancel()
	if !suite.AwaitRunning(ctx, c, from, id) {
		t.GiveUp("mcp-conform could not see the tool running: it reported no progress")
	}
	judgePing(ctx, t, c, c.Do(ctx, spec.MethodPing, nil))
	// The conversation is shared, so it must have no request in progress at the end.
	defer c.BeginIdle()()
	c.AwaitResponse(wait, from, id)
}

const (
	lateTime   = 50 * time.Millisecond // a ping that takes this much longer during a call may have waited for the call
	maxCalls   = 20                    // concurrent calls
	idlePings  = 3                     // the fastest shows how long a ping takes on an idle server
	idleFactor = 20                    // how much longer a ping must take than on an idle server to exclude a busy machine
)

// pingBehindCalls pings during one call. If the ping is late, which may be due to a busy machine,
// it sends enough concurrent calls to keep a sequential server busy for thinkingTime, and pings
// after them.
func pingBehindCalls(ctx context.Context, t *suite.T) {
	t.RequireTool(inventory.Slow)
	if last := t.KnownRevisions; len(last) > 0 && t.Revision != slices.Max(last) {
		t.MarkNotObserved(responds, "judged once for all revisions, in "+string(slices.Max(last)))
		return
	}
	slow, _ := t.Inventory.SlowCall(busyTime, busySteps)
	c := t.Start(ctx, client.Options{})
	alone := c.Do(ctx, spec.MethodPing, nil)
	if !judgePing(ctx, t, c, alone) {
		return
	}
	replies := c.DoAll(ctx, [][]byte{c.Request(c.NewID(), spec.MethodToolsCall, slow.Params()), c.Request(c.NewID(), spec.MethodPing, nil)})
	call, ping := replies[0], replies[1]
	if !judgePing(ctx, t, c, ping) || !call.Succeeded() || responseTime(ping) < responseTime(alone)+lateTime {
		return
	}
	n := int(thinkingTime/max(responseTime(call), time.Millisecond)) + 2
	if n > maxCalls {
		return // too quick to delay a ping
	}
	from, calls := c.Record.Len(), make([]wire.ID, n)
	for i := range calls {
		calls[i] = c.NewID()
		if err := c.Send(ctx, c.Request(calls[i], spec.MethodToolsCall, slow.Params())); err != nil {
			t.GiveUp("mcp-conform could not call the tool: " + err.Error())
		}
	}
	id := c.NewID()
	if err := c.Send(ctx, c.Request(id, spec.MethodPing, nil)); err != nil {
		t.GiveUp("mcp-conform could not send the ping: " + err.Error())
	}
	ping = c.AwaitResponse(ctx, from, id, client.Within(thinkingTime+c.Options().Timeout))
	for _, id := range calls {
		if !c.AwaitResponse(ctx, from, id, client.Within(c.Options().Timeout)).Answered() {
			return // the duration of the calls is unknown
		}
	}
	if ping.Sent = c.RequestSent(from, id); !judgePing(ctx, t, c, ping) {
		return
	}
	idle := thinkingTime
	for range idlePings {
		if alone = c.Do(ctx, spec.MethodPing, nil); !alone.Answered() {
			return
		}
		idle = min(idle, responseTime(alone))
	}
	if responseTime(ping) < thinkingTime || responseTime(ping) < idleFactor*idle {
		return
	}
	d := unansweredPing(responds, "The server answers a ping only after earlier tool calls are done.", ping)
	d.Weight, d.Permitted = verdict.AtMostWarning, "a result at once"
	d.Seen = fmt.Sprintf("the answer came after %.1f s; %d calls of the tool %s were in progress, each of which takes %.1f s",
		responseTime(ping).Seconds(), n, wire.Excerpt(slow.Tool, 80), responseTime(call).Seconds())
	t.Report(c, d)
}

// responseTime returns how long the server took for a response.
func responseTime(r *client.Reply) time.Duration { return r.Event.At - r.Sent.At }
