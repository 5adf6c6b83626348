package cancellation

import (
	"context"
	"encoding/json"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// runSlowCall cancels calls of a slow tool. If the only known tool takes long, it makes no further
// calls.
func runSlowCall(ctx context.Context, t *suite.T) {
	if long, ok := onlyLongCall(t); ok {
		cancelSlowCall(ctx, t, t.Conversation(ctx), long)
		return
	}
	t.RequireTool(inventory.Slow)
	slow, _ := t.Inventory.SlowCall(duration, steps)
	c := t.Conversation(ctx)
	after := newCapacityCheck(ctx, t, c)
	cancelSlowCall(ctx, t, c, slow)
	after.judgeLaterCall(ctx, t, c)
}

// onlyLongCall returns a call of a tool that takes long, if no slow tool is known.
func onlyLongCall(t *suite.T) (inventory.KnownCall, bool) {
	if t.Inventory.HasCall(inventory.Slow) {
		return inventory.KnownCall{}, false
	}
	return t.Inventory.LongCall()
}

// runSlowRaces runs races with concurrent calls of a slow tool. If the only known tool takes long, it
// runs only the first race.
func runSlowRaces(ctx context.Context, t *suite.T) {
	if long, ok := onlyLongCall(t); ok && long.Took > 0 {
		c := t.Conversation(ctx)
		calls := raceCalls(c, long)
		calls.takes = long.Took
		otherTypeRace().run(ctx, t, c, calls)
		return
	}
	t.RequireTool(inventory.Slow)
	c := t.Conversation(ctx)
	after := newCapacityCheck(ctx, t, c)
	// The call lasts at least the grace, because on a busy machine it takes longer to cancel a call
	// that was seen to run.
	short, _ := t.Inventory.SlowCall(max(duration/5, c.Grace()), steps/2)
	for _, r := range slowRaces() {
		c = r.run(ctx, t, c, raceCalls(c, short))
	}
	after.judgeLaterCall(ctx, t, c)
}

// raceCalls returns calls of the tool with progress tokens.
func raceCalls(c *client.Conversation, tool inventory.KnownCall) raceRequests {
	return raceRequests{runs: true, makeFrame: func(id wire.ID, _ int) []byte {
		return c.Request(id, spec.MethodToolsCall, tool.ParamsWithToken("mcp-conform/race/"+id.Raw()))
	}}
}

// The races after which the case listens long enough for rules to judge the outcome.
var (
	firstProgress = suite.Race{Name: "after the first progress", Cancelled: suite.Any}
	withCall      = suite.Race{Name: "in the write that makes the call", Cancelled: suite.Any}
)

// severalSlow is the number of concurrent calls of a slow tool.
const severalSlow = 6

// slowRaces returns races with calls of a slow tool.
func slowRaces() []race { return []race{otherTypeRace(), halfRace(severalSlow)} }

// cancelSlowCall cancels one call after its first progress, and another in the write that sends it
// (over HTTP in the stateless era, right after that write), because a cancellation that comes
// before its request is processed must not get lost. It then listens for as long as the calls would
// have taken.
func cancelSlowCall(ctx context.Context, t *suite.T, c *client.Conversation, slow inventory.KnownCall) {
	id, from := startCall(ctx, t, c, slow)
	runs := suite.AwaitRunning(ctx, c, from, id)
	if runs && c.Cancel(ctx, id, "the case wants to see it stop") != nil {
		return // there is nothing for the rules to judge
	}
	early := c.NewID()
	call := c.Request(early, spec.MethodToolsCall, slow.ParamsWithToken("mcp-conform/at-once"))
	if t.Revision.Era() == spec.Stateless && t.Transport != spec.Stdio {
		_ = c.Send(ctx, call)
		_ = c.Cancel(ctx, early, "")
	} else {
		_ = c.Send(ctx, call, wire.NewNotification(spec.MethodCancelled, map[string]any{"requestId": json.RawMessage(early.Raw())}))
	}
	// The second fence is sent after the response to the first. When the response to the second
	// arrives, everything that the server was sending when it read the cancellations has arrived,
	// too.
	requireFence(ctx, t, c)
	requireFence(ctx, t, c)
	began := c.Record.Moment()
	for _, id := range []wire.ID{id, early} {
		c.AwaitResponse(ctx, from, id, client.Within(max(duration, slow.Took)-c.Record.Since(began)))
	}
	if runs {
		t.AwaitQuiet(ctx, c)
	}
}

// startCall calls the tool with a progress token. It returns the call's id, and a position in the
// transcript. All events of the call are at or after this position.
func startCall(ctx context.Context, t *suite.T, c *client.Conversation, slow inventory.KnownCall) (wire.ID, int) {
	id, from := c.NewID(), c.Record.Len()
	if err := c.Send(ctx, c.Request(id, spec.MethodToolsCall, slow.ParamsWithToken("mcp-conform/cancel/"+id.Raw()))); err != nil {
		t.GiveUp("mcp-conform could not call the tool: " + err.Error())
	}
	return id, from
}
