package cancellation

import (
	"context"
	"strconv"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const multipleClients = "streamable-http.multiple-clients"

// bothDuration is how long each of two calls takes: long enough for both to be seen to run.
const bothDuration = 3 * duration

// cancelOfOtherClient closes the stream of a call while the call of another client with the same id
// runs, because a server that finds a running call by its id alone cancels the wrong one. The call
// that is cancelled begins first, and then second. The other one must get its result.
func cancelOfOtherClient(ctx context.Context, t *suite.T) {
	slow, ok := onlyLongCall(t)
	if !ok || slow.Took == 0 {
		t.RequireTool(inventory.Slow)
		slow, _ = t.Inventory.SlowCall(bothDuration, steps)
	}
	leaving, staying := t.Start(ctx, client.Options{}), t.Start(ctx, client.Options{})
	for i, order := range [][]*client.Conversation{{leaving, staying}, {staying, leaving}} {
		id, from := wire.StringID("mcp-conform/same-"+strconv.Itoa(i)), staying.Record.Len()
		for j, c := range order {
			call := c.Request(id, spec.MethodToolsCall, slow.ParamsWithToken("mcp-conform/same/"+strconv.Itoa(2*i+j)))
			from := c.Record.Len()
			if c.Send(ctx, call) != nil || !suite.AwaitRunning(ctx, c, from, id) {
				t.GiveUp("mcp-conform did not see the calls of both clients run at the same time")
			}
		}
		if err := leaving.Cancel(ctx, id, "this client wants it no more"); err != nil {
			t.GiveUp("mcp-conform could not cancel the call: " + err.Error())
		}
		r := suite.AwaitExpected(ctx, staying, from, id)
		switch {
		case r.Succeeded():
			t.MarkKept(multipleClients)
			continue
		case ctx.Err() != nil || r.Busy() || !callSucceedsAlone(ctx, staying, slow):
			t.MarkNotObserved(multipleClients, "the server does not serve the call alone, either")
			return
		}
		t.Report(staying, verdict.Deviation{
			Requirement: multipleClients,
			Summary:     "The server ends a call when another client cancels one with its id.",
			Permitted:   "the result of the call, as when it is alone",
			Seen:        suite.Describe(r),
			At:          transcript.Positions(staying.RequestSent(from, id), r.Event),
			Fix:         "Cancel the call of the connection that was closed; do not look it up by its id.",
		})
		return
	}
}

// callSucceedsAlone makes a call when no other is running, and reports whether it gets a result.
func callSucceedsAlone(ctx context.Context, c *client.Conversation, k inventory.KnownCall) bool {
	return c.Do(ctx, spec.MethodToolsCall, k.Params(), client.Within(max(k.Took, bothDuration)+3*time.Second)).Succeeded()
}
