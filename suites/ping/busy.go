package ping

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const burstSize = 20

func burst(ctx context.Context, t *suite.T) {
	c := listening(ctx, t)
	pings := make([][]byte, c.Burst(burstSize))
	for i := range pings {
		pings[i] = c.Request(c.NewID(), spec.MethodPing, nil)
	}
	for _, r := range c.AskTogether(ctx, pings...) {
		if !asked(ctx, t, c, r) {
			return
		}
	}
}

// slowTools are tools known to take their time and to report progress, with
// arguments that keep them busy for no longer than it takes to ping.
var slowTools = []struct {
	name      string
	arguments map[string]any
}{
	{"slow", map[string]any{"durationMs": 300, "steps": 6}},
	{"trigger-long-running-operation", map[string]any{"duration": 1, "steps": 5}},
	{"longRunningOperation", map[string]any{"duration": 1, "steps": 5}},
}

// whileBusy pings after the tool's first progress, which shows that it runs.
func whileBusy(ctx context.Context, t *suite.T) {
	for _, tool := range slowTools {
		if _, ok := t.Inventory.Tool(tool.name); ok {
			pingBeside(ctx, t, tool.name, tool.arguments)
			return
		}
	}
	t.Skip("no tool that is known to be slow may be called")
}

func pingBeside(ctx context.Context, t *suite.T, tool string, arguments map[string]any) {
	c := listening(ctx, t)
	id := c.NewID()
	from := c.Record.Len()
	call := wire.NewRequest(id, spec.MethodToolsCall, map[string]any{
		"name": tool, "arguments": arguments, "_meta": map[string]any{"progressToken": "mcp-conform-busy"},
	})
	if err := c.Send(ctx, call); err != nil {
		t.GiveUp("the tool could not be called: " + err.Error())
	}
	wait, cancel := context.WithTimeoutCause(ctx, c.Options().Timeout, client.ErrUnanswered)
	defer cancel()
	first, err := c.Await(wait, from, func(e *transcript.Event) bool {
		return e.Kind == transcript.Received && (carries(e, isProgress) || carries(e, answers(id)))
	})
	if err != nil || carries(first, answers(id)) {
		t.GiveUp("the tool was not seen to be running: it reported no progress")
	}
	asked(ctx, t, c, c.Ask(ctx, spec.MethodPing, nil))
	// The conversation is shared: it is left with nothing in flight.
	defer c.Idle()()
	c.AwaitReply(wait, from, id)
}

func carries(e *transcript.Event, match func(*wire.Message) bool) bool {
	for i := range e.Messages() {
		if match(&e.Messages()[i]) {
			return true
		}
	}
	return false
}

func isProgress(m *wire.Message) bool { return m.Method == spec.MethodProgress }

func answers(id wire.ID) func(*wire.Message) bool {
	return func(m *wire.Message) bool { return m.Kind == wire.Response && m.ID.Same(id) }
}
