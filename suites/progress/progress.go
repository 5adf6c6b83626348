// Package progress asks for progress in every way that is permitted. What
// results from it is judged by rules.
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

// given are the tokens of calls that run at once: texts, integers, and those
// that a program may take for none. No two differ in type alone, so that one
// that comes back changed is not taken for another.
var given = []any{"mcp-conform/Progress", 41, "42", 0, "", 9_007_199_254_740_991}

// How long a slow tool takes, and in how many steps.
const (
	duration = 60 * time.Millisecond
	steps    = 3
)

// bare is how many tools are called of which nothing is known, and callTime
// what all calls get together.
const (
	bare     = 3
	callTime = 3 * time.Second
)

func callWithTokens(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	c.Do(ctx, c.HarmlessMethod(), map[string]any{"_meta": map[string]any{"progressToken": "mcp-conform/ping"}})
	if c.Server().Declares("tools") {
		c.Do(ctx, spec.MethodToolsCall, inventory.Known{Tool: "com.example.mcp-conform/none", Arguments: map[string]any{}}.WithToken("mcp-conform/none"), client.Within(callTime))
	}
	var calls [][]byte
	call := func(params map[string]any) {
		calls = append(calls, c.Request(c.NewID(), spec.MethodToolsCall, params))
	}
	if t.KnowsTool(inventory.Slow) {
		slow, _ := t.Inventory.Slow(duration, steps)
		for _, token := range given {
			call(slow.WithToken(token))
		}
		call(slow.Params())
	} else {
		for _, tool := range t.Inventory.Bare(bare) {
			call(tool.Params()) // with tokens the tools suite calls them all
		}
	}
	if len(calls) > 0 {
		resume := c.BeginIdle()
		c.DoAll(ctx, calls, client.Within(callTime))
		resume()
	}
	t.Quiet(ctx, c) // what comes too late comes now
}
