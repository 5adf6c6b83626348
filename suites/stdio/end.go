package stdio

import (
	"context"
	"fmt"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const (
	exitHandshake = "stdio.exit-on-stdin-close-2024-11-05"
	exitStateless = "stdio.exit-on-stdin-close-2026-07-28"
	exitOnTerm    = "stdio.exit-on-sigterm"
	inFlight      = "stdio.responses-before-exit"
)

// leastExit is the least time that a server is given to exit.
var leastExit = 3 * time.Second

// exitTime returns how long a server may take to exit. The specification says only "reasonable" or
// "promptly"; exitTime is longer than clients wait in practice.
func exitTime(c *client.Conversation) time.Duration { return suite.ExitTime(c, leastExit) }

func closedStdinCase() suite.Case {
	return suite.Case{
		ID:           "stdio.closed-stdin",
		Title:        "Closes stdin of an idle server, from 2026-07-28 on with a subscription, and of a busy one, and waits for the exit",
		Requirements: []string{exitHandshake, exitStateless, exitOnTerm, inFlight},
		Provokes:     []string{"subscriptions.graceful-close-id", "subscriptions.graceful-close-response"},
		Waits:        true,
		SpoilsServer: true,
		Reuses:       suite.ReuseUncalled,
		Run: func(ctx context.Context, t *suite.T) {
			idle := t.StartFresh(ctx, client.Options{Capabilities: noCapabilities})
			var open *transcript.Event
			if t.Revision.Era() == spec.Stateless {
				open = subscribe(ctx, t, idle)
			}
			t.Fence(ctx, idle)
			_ = idle.CloseInput() // this fails if the server has already exited, which is permitted
			if judgeExit(ctx, t, idle, open, "The server does not exit promptly when stdin closes.") {
				judgeExitCode(t, idle, exitHandshake, "The server exits with a code other than 0 when stdin closes.")
				closeWhileBusy(ctx, t)
				return
			}
			terminateAfterClosing(ctx, t, idle)
			t.MarkNotObserved(inFlight, "the server does not exit when its stdin is closed")
		},
	}
}

// noCapabilities are the capabilities of a client to which a server can't send requests. Many
// servers wait for the responses to their own requests before they exit.
var noCapabilities = map[string]any{}

// Limits on the work before the server has to exit.
const (
	maxCalls = 3           // tools that doWork calls
	workTime = time.Second // the longest wait for each response
)

// doWork makes the server do typical work, because what a tool has started must not keep the
// process alive after stdin closes. It reports whether all requests were answered, so that no work
// is left.
func doWork(ctx context.Context, t *suite.T, c *client.Conversation) bool {
	if t.Inventory.Declares("tools") && !c.Do(ctx, spec.MethodToolsList, nil, client.Within(0)).Answered() {
		return false
	}
	calls := 0
	for _, tool := range t.Inventory.Callable() {
		arguments, err := tool.Arguments()
		if err != nil || calls == maxCalls {
			continue
		}
		calls++
		call := suite.ValidCall(tool.Name, arguments)
		if !c.Do(ctx, call.Method, call.Params, client.Within(workTime)).Answered() {
			return false
		}
	}
	for _, uri := range t.Inventory.Resources[:min(1, len(t.Inventory.Resources))] {
		params := map[string]any{"uri": uri}
		if !c.Do(ctx, spec.MethodResourcesRead, params, client.Within(workTime)).Answered() ||
			t.Revision.Era() == spec.Handshake && t.Inventory.Declares("resources.subscribe") && !c.Do(ctx, spec.MethodResourcesSubscribe, params, client.Within(workTime)).Answered() {
			return false
		}
	}
	return true
}

// subscribe opens a subscription and returns the event of its request, or nil if the server does
// not acknowledge it.
func subscribe(ctx context.Context, t *suite.T, c *client.Conversation) *transcript.Event {
	filter := map[string]any{"toolsListChanged": true}
	if t.Inventory.Declares("resources.subscribe") && len(t.Inventory.Resources) > 0 {
		filter["resourceSubscriptions"] = t.Inventory.Resources[:1]
	}
	s, err := c.Subscribe(ctx, filter)
	if err != nil {
		return nil
	}
	if _, err := s.AwaitAcknowledgement(ctx); err != nil {
		return nil
	}
	return s.Sent
}

// closeWhileBusy makes the server do some work, then sends requests and closes stdin right after
// them. No other case has called tools of this server, because what the tools started may keep the
// process alive.
func closeWhileBusy(ctx context.Context, t *suite.T) {
	c := t.Start(ctx, client.Options{Capabilities: noCapabilities})
	if !doWork(ctx, t, c) {
		t.MarkNotObserved(inFlight, "the server did not answer a call at once, and may still be working on it")
		return
	}
	var requests [][]byte
	for range 8 {
		requests = append(requests, c.Request(c.NewID(), c.HarmlessMethod(), nil))
	}
	from := c.Record.Len()
	if err := c.Send(ctx, requests...); err != nil {
		t.MarkNotObserved(inFlight, "mcp-conform could not send the requests: "+err.Error())
		return
	}
	_ = c.CloseInput()
	if !judgeExit(ctx, t, c, nil, "The server does not exit when stdin closes after requests.") {
		return
	}
	answers := 0
	for _, r := range c.Record.Dialogue().Requests() {
		if r.Event.Seq >= from {
			answers += len(r.Responses)
		}
	}
	if answers == len(requests) {
		t.MarkKept(inFlight)
		return
	}
	t.Report(c, verdict.Deviation{
		Requirement: inFlight,
		Summary:     "The server drops requests sent right before stdin closes.",
		Permitted:   "anything; clients that pipe requests expect responses",
		Seen:        fmt.Sprintf("%d of %d requests were answered", answers, len(requests)),
		At:          sentSince(c, from),
		Weight:      verdict.OnlyNote,
	})
}

// judgeExit waits for the exit of a server whose stdin was closed, judges it, and reports whether
// the server exited in time. open is the request of an open subscription, or nil.
func judgeExit(ctx context.Context, t *suite.T, c *client.Conversation, open *transcript.Event, summary string) bool {
	if awaitExit(ctx, c) {
		t.MarkKept(exitHandshake)
		t.MarkKept(exitStateless)
		return true
	}
	if ctx.Err() != nil {
		t.GiveUp("the case ran out of time")
	}
	seen, at := fmt.Sprintf("the process was alive %v later", exitTime(c)), suite.LastPosition(c, transcript.InputClosed)
	if open != nil {
		seen, at = seen+"; a subscription was open", append([]int{open.Seq}, at...)
	}
	for _, requirement := range []string{exitHandshake, exitStateless} {
		t.Report(c, verdict.Deviation{
			Requirement: requirement,
			Summary:     summary,
			Permitted:   "the exit of the process, promptly",
			Seen:        seen,
			At:          at,
		})
	}
	return false
}

// terminateAfterClosing sends SIGTERM to a server that did not exit when stdin was closed.
func terminateAfterClosing(ctx context.Context, t *suite.T, c *client.Conversation) {
	if !c.Signal("TERM") {
		t.MarkNotApplicable(exitOnTerm, "this system has no SIGTERM")
		return
	}
	judgeSIGTERM(ctx, t, c, "The server does not exit on SIGTERM after stdin closes.")
}

func judgeSIGTERM(ctx context.Context, t *suite.T, c *client.Conversation, summary string) {
	switch {
	case awaitExit(ctx, c):
		t.MarkKept(exitOnTerm)
	case ctx.Err() != nil:
		t.GiveUp("the case ran out of time")
	default:
		t.Report(c, verdict.Deviation{
			Requirement: exitOnTerm,
			Summary:     summary,
			Permitted:   "the exit of the process, within a reasonable time",
			Seen:        fmt.Sprintf("the process was alive %v later", exitTime(c)),
			At:          suite.LastPosition(c, transcript.Signalled),
		})
	}
}

func signalCase() suite.Case {
	return suite.Case{
		ID:           "stdio.signals",
		Title:        "Sends SIGTERM to an idle server, and waits for the exit",
		Requirements: []string{exitOnTerm},
		Waits:        true,
		SpoilsServer: true,
		Reuses:       suite.ReuseUncalled,
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			t.Fence(ctx, c)
			if !c.Signal("TERM") {
				t.Skip("this system has no SIGTERM")
			}
			judgeSIGTERM(ctx, t, c, "The server does not exit on SIGTERM.")
			judgeExitCode(t, c, exitOnTerm, "The server exits with a code other than 0 on SIGTERM.", afterTerm)
		},
	}
}

// interruptCase sends SIGINT, as Ctrl-C in a terminal does. The specification does not mention this
// signal.
func interruptCase() suite.Case {
	return suite.Case{
		ID:           "stdio.interrupt",
		Title:        "Sends SIGINT to a server that other cases have used, and waits for the exit",
		Requirements: []string{exitOnTerm},
		Waits:        true,
		SpoilsServer: true,
		Reuses:       suite.ReuseAny,
		Run:          sendInterrupt,
	}
}

// sendInterrupt interrupts a server that other cases have used. If it does not exit, it may still
// be busy with their requests, so a fresh server decides.
func sendInterrupt(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	if interruptAndAwaitExit(ctx, t, c) {
		return
	}
	if c = t.StartFresh(ctx, client.Options{}); interruptAndAwaitExit(ctx, t, c) {
		return
	}
	t.Report(c, verdict.Deviation{
		Requirement: exitOnTerm,
		Summary:     "The server does not exit on SIGINT.",
		Permitted:   "anything; users who press Ctrl-C expect the exit",
		Seen:        fmt.Sprintf("the process was alive %v later", exitTime(c)),
		At:          suite.LastPosition(c, transcript.Signalled),
		Weight:      verdict.OnlyNote,
	})
}

// interruptAndAwaitExit sends SIGINT and reports whether the server exits, or the case ran out of
// time.
func interruptAndAwaitExit(ctx context.Context, t *suite.T, c *client.Conversation) bool {
	t.Fence(ctx, c)
	if !c.Signal("INT") {
		t.Skip("this system has no SIGINT")
	}
	return awaitExit(ctx, c) || ctx.Err() != nil
}

// awaitExit reports whether the server exits in time.
func awaitExit(ctx context.Context, c *client.Conversation) bool {
	return suite.AwaitExit(ctx, c, exitTime(c))
}
