// Package progress requests progress in every permitted way. Rules judge the results.
package progress

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{{
		ID:                 "progress.tokens",
		Title:              "Calls tools concurrently with progress tokens of each type and without one, including fast and failing calls",
		Provokes:           []string{"progress."},
		SharesConversation: true,
		Run:                callWithTokens,
	}}
}

// tokens are the tokens of concurrent calls: strings, integers, and values that a program may
// mistake for a missing token. No two differ only in type, so that a changed token does not match
// another.
var tokens = []any{"mcp-conform/Progress", 41, "42", 0, "", 9_007_199_254_740_991}

// Duration and number of steps of a slow tool call.
const (
	duration = 60 * time.Millisecond
	steps    = 3
)

// maxTools is how many tools are called if no slow one is known. callTime is the time limit for all
// of the concurrent calls together.
const (
	maxTools = 3
	callTime = 3 * time.Second
)

func callWithTokens(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	c.Do(ctx, c.HarmlessMethod(), map[string]any{"_meta": map[string]any{"progressToken": "mcp-conform/ping"}})
	if c.Server().Declares("tools") {
		c.Do(ctx, spec.MethodToolsCall, inventory.KnownCall{Tool: "com.example.mcp-conform/none", Arguments: map[string]any{}}.ParamsWithToken("mcp-conform/none"), client.Within(callTime))
	}
	var calls [][]byte
	call := func(params map[string]any) {
		calls = append(calls, c.Request(c.NewID(), spec.MethodToolsCall, params))
	}
	if t.KnowsTool(inventory.Slow) {
		slow, _ := t.Inventory.SlowCall(duration, steps)
		for _, token := range tokens {
			call(slow.ParamsWithToken(token))
		}
		call(slow.Params())
	} else {
		for _, tool := range t.Inventory.CallsWithoutArguments(maxTools) {
			call(tool.Params()) // the tools suite calls all of them with tokens
		}
	}
	if len(calls) > 0 {
		defer listen(ctx, t, c)()
		resume := c.BeginIdle()
		c.DoAll(ctx, calls, client.Within(callTime))
		resume()
	}
	t.AwaitQuiet(ctx, c) // by now, late progress has come
}

// listen opens a subscription to nothing, on whose stream no progress of a call may come, and
// returns a function that cancels it. It does nothing if subscriptions have no streams of their own.
func listen(ctx context.Context, t *suite.T, c *client.Conversation) (stop func()) {
	if t.Revision.Era() != spec.Stateless || t.Transport != spec.StreamableHTTP {
		return func() {}
	}
	params := map[string]any{"notifications": map[string]any{}, "_meta": map[string]any{"progressToken": "mcp-conform/listen"}}
	s, err := c.SubscribeAs(ctx, c.NewID(), params)
	if err != nil {
		return func() {}
	}
	_, _ = s.AwaitAcknowledgement(ctx) // the calls are made in any case
	return func() { _ = s.Cancel(ctx) }
}
