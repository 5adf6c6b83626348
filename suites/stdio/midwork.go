package stdio

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func closedMidworkCase() suite.Case {
	return suite.Case{
		ID:           "stdio.closed-midwork",
		Title:        "Closes stdin after a call that sent the client a request, and during a slow call, and waits for the exit",
		Requirements: []string{exitHandshake, exitStateless},
		Needs:        []string{"tools"},
		Waits:        true,
		SpoilsServer: true,
		Run:          closeMidwork,
	}
}

// closeMidwork closes stdin during a slow call, after a call in which the client answered a request
// of the server. If the server does not exit, closeMidwork tries each of the two calls alone. A
// server whose request got no response is not judged, because no keyword forbids it to wait, and
// many servers wait until their own timeout.
func closeMidwork(ctx context.Context, t *suite.T) {
	t.RequireTool(inventory.Slow, inventory.AsksRoots, inventory.AsksSampling, inventory.AsksElicitation)
	c := t.Start(ctx, client.Options{})
	asked := callWithServerRequest(ctx, t, c)
	took, runs := startSlowCall(ctx, t, c)
	if !asked && !runs {
		t.GiveUp("no call sent the client a request, and mcp-conform saw none running")
	}
	_ = c.CloseInput()
	if suite.AwaitExit(ctx, c, exitTimeAfter(c, took)) {
		t.MarkKept(exitHandshake)
		t.MarkKept(exitStateless)
		return
	}
	if c = t.Start(ctx, client.Options{}); callWithServerRequest(ctx, t, c) {
		_ = c.CloseInput()
		judgeExitWhileBusy(ctx, t, c, exitTime(c), "The server does not exit when stdin closes after it sent the client a request.")
	}
	c = t.Start(ctx, client.Options{Capabilities: noCapabilities})
	if took, runs := startSlowCall(ctx, t, c); runs {
		_ = c.CloseInput()
		judgeExitWhileBusy(ctx, t, c, exitTimeAfter(c, took), "The server does not exit when stdin closes during a call.")
	}
}

// callWithServerRequest makes a call during which the server sends a request to the client. It
// reports whether both the call and the server's request were answered.
func callWithServerRequest(ctx context.Context, t *suite.T, c *client.Conversation) bool {
	asking, ok := t.Inventory.AskingCall()
	from := c.Record.Len()
	if !ok || !c.Do(ctx, spec.MethodToolsCall, asking.Params(), client.Within(workTime)).Answered() || !isServerRequestAnswered(c, from) {
		return false
	}
	t.Fence(ctx, c)
	return true
}

// isServerRequestAnswered reports whether the server sent the client a request other than ping, and
// got a response to each of its requests.
func isServerRequestAnswered(c *client.Conversation, from int) bool {
	var open []wire.ID
	asked := false
	for e, m := range transcript.Messages(c.Record.From(from)) {
		switch {
		case e.Kind == transcript.Received && m.Kind == wire.Request:
			open, asked = append(open, m.ID), asked || m.Method != spec.MethodPing
		case e.Kind == transcript.Sent && m.Kind == wire.Response:
			open = slices.DeleteFunc(open, m.ID.Same)
		}
	}
	return asked && len(open) == 0
}

// startSlowCall makes a slow call, and another one. It returns how long the first took, and
// whether the second is running.
func startSlowCall(ctx context.Context, t *suite.T, c *client.Conversation) (took time.Duration, runs bool) {
	slow, ok := t.Inventory.SlowCall(workTime/4, 2)
	if !ok {
		return 0, false
	}
	first := c.Do(ctx, spec.MethodToolsCall, slow.ParamsWithToken("mcp-conform/midwork-1"), client.Within(workTime))
	if !first.Succeeded() {
		return 0, false
	}
	id, from := c.NewID(), c.Record.Len()
	if c.Send(ctx, c.Request(id, spec.MethodToolsCall, slow.ParamsWithToken("mcp-conform/midwork-2"))) != nil {
		return 0, false
	}
	return first.Event.At - first.Sent.At, suite.AwaitRunning(ctx, c, from, id)
}

// exitTimeAfter is like exitTime, but for a server that may complete a call before it exits; took
// is the duration of such a call.
func exitTimeAfter(c *client.Conversation, took time.Duration) time.Duration {
	return exitTime(c) + (2 * took).Round(time.Second)
}

// judgeExitWhileBusy waits for the exit of a server whose stdin was closed, and compares a server
// that does not exit with an idle one.
func judgeExitWhileBusy(ctx context.Context, t *suite.T, c *client.Conversation, limit time.Duration, summary string) {
	if suite.AwaitExit(ctx, c, limit) {
		return
	}
	idle := t.StartFresh(ctx, client.Options{Capabilities: noCapabilities})
	_ = idle.CloseInput()
	if !awaitExit(ctx, idle) {
		t.GiveUp("the server does not exit when its stdin is closed while it is idle, either")
	}
	for _, requirement := range []string{exitHandshake, exitStateless} {
		t.Report(c, verdict.Deviation{
			Requirement: requirement,
			Summary:     summary,
			Permitted:   "the exit of the process, promptly, as of an idle one",
			Seen:        fmt.Sprintf("the process was alive %v later", limit),
			At:          suite.LastPosition(c, transcript.InputClosed),
		})
	}
}
