package cancellation

import (
	"context"
	"fmt"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const exit = "stdio.exit-on-stdin-close-2024-11-05"

// leastExit is the least time that a server is given to exit.
const leastExit = 3 * time.Second

var closing = suite.Race{Name: "right before the client closes the server's input (on stdio), whereupon the server exits", Cancelled: suite.Any}

// closeAfterCancellations cancels requests and closes the server's input at once, because cancelled
// work must not keep a process alive. A server that does not exit is compared with one whose input
// is closed without a cancellation.
func closeAfterCancellations(ctx context.Context, t *suite.T, c *client.Conversation) {
	if t.Transport != spec.Stdio || !c.Alive() {
		return
	}
	ask := harmlessRequests(t, c)
	if slow, ok := t.Inventory.SlowCall(duration, steps); ok {
		ask.makeFrame = func(id wire.ID, _ int) []byte { return c.Request(id, spec.MethodToolsCall, slow.Params()) }
	}
	p := newRaceRun(ctx, c, ask)
	for range 2 {
		p.cancel(p.request())
	}
	p.send()
	_ = c.CloseInput() // this fails if the server has already exited, which is permitted
	if suite.AwaitExit(ctx, c, suite.ExitTime(c, leastExit)) {
		t.MarkKept(exit)
		return
	}
	idle := t.StartFresh(ctx, client.Options{Capabilities: noCapabilities})
	_ = idle.CloseInput()
	switch {
	case !suite.AwaitExit(ctx, idle, suite.ExitTime(idle, leastExit)):
		t.MarkNotObserved(exit, "the server does not exit without a cancellation, either")
	case ctx.Err() == nil:
		t.Report(c, verdict.Deviation{
			Requirement: exit,
			Summary:     "The server does not exit when stdin closes after a cancellation.",
			Permitted:   "the exit of the process, promptly, as without the cancellation",
			Seen:        fmt.Sprintf("the process was alive %v later", suite.ExitTime(c, leastExit)),
			At:          transcript.Positions(cancellationOf(c, p.from, p.asked[0].id), c.RequestSent(p.from, p.asked[0].id)),
		})
	}
}
