package logging

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// In the stateless era each request states the minimum level of the messages it wants.

// requestedLevels are the levels of successive calls of a logging tool. The last is debug, and the
// call after it has no level, so a server that keeps the level of a request also logs for that
// call.
var requestedLevels = []string{"emergency", "error", "warning", "info", "debug"}

// unknownRequestLevels are values that are not levels.
var unknownRequestLevels = []any{"verbose", "INFO", "", 3}

// withLevel returns the params with a log level.
func withLevel(params map[string]any, level any) map[string]any {
	if params == nil {
		params = map[string]any{}
	}
	params["_meta"] = map[string]any{spec.MetaLogLevel: level}
	return params
}

// requestLogs calls the tool without a level before and after calls with levels, which must not
// affect the calls without one.
func requestLogs(ctx context.Context, t *suite.T) {
	t.RequireTool(inventory.Logging)
	c := t.Conversation(ctx)
	tool, _ := t.Inventory.LoggingCall()
	call := func(params map[string]any) bool {
		return c.Do(ctx, spec.MethodToolsCall, params, client.Within(0)).Answered()
	}
	if !call(tool.Params()) {
		return
	}
	for _, level := range requestedLevels {
		if !call(withLevel(tool.Params(), level)) {
			return
		}
		t.Fence(ctx, c) // a log message that follows the response comes before the next call
	}
	call(tool.Params())
	c.Do(ctx, c.HarmlessMethod(), withLevel(nil, "debug"))
	t.AwaitQuiet(ctx, c)
}

// requestLogsOnStreams calls the tool while other streams are open: that of a subscription, that of
// a slow call without a level, or both.
func requestLogsOnStreams(ctx context.Context, t *suite.T) {
	t.RequireTool(inventory.Logging)
	c := t.Conversation(ctx)
	tool, _ := t.Inventory.LoggingCall()
	listening, err := c.Subscribe(ctx, map[string]any{})
	if err == nil {
		if _, err = listening.AwaitAcknowledgement(ctx); err == nil {
			defer func() { _ = listening.Cancel(ctx) }()
		}
	}
	slow, ok := t.Inventory.SlowCall(slowTime, slowSteps)
	id, from := c.NewID(), c.Record.Len()
	if ok = ok && c.Send(ctx, c.Request(id, spec.MethodToolsCall, slow.Params())) == nil; !ok && err != nil {
		t.GiveUp("mcp-conform could not open another stream")
	}
	c.Do(ctx, spec.MethodToolsCall, withLevel(tool.Params(), "debug"), client.Within(0))
	t.AwaitQuiet(ctx, c)
	if ok {
		c.AwaitResponse(ctx, from, id, client.Within(2*slowTime))
	}
}

// Duration and number of steps of the slow call that has its own stream.
const (
	slowTime  = 400 * time.Millisecond
	slowSteps = 2
)

// requestUnknownLevels sends requests with unknown levels, and the same request without a level for
// comparison.
func requestUnknownLevels(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	var odd []suite.Request
	for _, level := range unknownRequestLevels {
		odd = append(odd, suite.Request{Method: c.HarmlessMethod(), Params: withLevel(nil, level)})
	}
	for range t.Probe(ctx, c, suite.Probe{Control: suite.Request{Method: c.HarmlessMethod()}, Odd: odd}) { // rules judge the responses
	}
}
