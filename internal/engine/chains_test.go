package engine_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestCasesReuseServers checks with which server each case of a chain works: with one
// that an earlier case left, unless its own client declares something else or it needs a fresh one.
func TestCasesReuseServers(t *testing.T) {
	plain := client.Options{}
	for _, c := range []struct {
		name  string
		cases []suite.Case
		open  []func(ctx context.Context, t *suite.T) *client.Conversation
		want  []int64 // the server that each case works with; the first of the chain is 1
	}{
		{"one server", make([]suite.Case, 3), []func(context.Context, *suite.T) *client.Conversation{start(plain), start(plain), start(plain)}, []int64{1, 1, 1}},
		{"after one that spoils it", []suite.Case{{SpoilsServer: true}, {SpoilsServer: true}, {}}, []func(context.Context, *suite.T) *client.Conversation{start(plain), start(plain), start(plain)}, []int64{1, 2, 1}},
		{
			"other capabilities", make([]suite.Case, 3), []func(context.Context, *suite.T) *client.Conversation{
				start(client.Options{Capabilities: map[string]any{}}), start(plain), start(client.Options{Capabilities: map[string]any{}}),
			}, []int64{2, 1, 2},
		},
		{
			"fresh ones", make([]suite.Case, 3), []func(context.Context, *suite.T) *client.Conversation{
				func(ctx context.Context, t *suite.T) *client.Conversation { return t.StartFresh(ctx, plain) }, start(plain), start(plain),
			}, []int64{2, 2, 2},
		},
		{
			"an own handshake", make([]suite.Case, 3), []func(context.Context, *suite.T) *client.Conversation{
				func(ctx context.Context, t *suite.T) *client.Conversation {
					c := t.Open(ctx, plain)
					_ = c.Handshake(ctx)
					return c
				}, start(plain), start(plain),
			}, []int64{2, 1, 1},
		},
		{
			"one that starts its own first", []suite.Case{{Waits: true}, {Reuses: suite.ReuseNone, Servers: 2}, {Waits: true}}, []func(context.Context, *suite.T) *client.Conversation{
				start(plain), startTwo, start(plain),
			}, []int64{1, 1, 1},
		},
		{
			"the servers of one that needs two", []suite.Case{{Reuses: suite.ReuseNone, Servers: 2}, {Waits: true, SpoilsServer: true}, {Waits: true, SpoilsServer: true}},
			[]func(context.Context, *suite.T) *client.Conversation{startTwo, start(plain), start(plain)}, []int64{1, 1, 2},
		},
		{
			"a spoiled one", []suite.Case{{SpoilsServer: true}, {SpoilsServer: true}, {SpoilsServer: true, Reuses: suite.ReuseAny}},
			[]func(context.Context, *suite.T) *client.Conversation{start(plain), start(plain), start(plain)}, []int64{1, 2, 1},
		},
		{
			"one whose tools were called", []suite.Case{{}, {}, {SpoilsServer: true, Reuses: suite.ReuseUncalled}},
			[]func(context.Context, *suite.T) *client.Conversation{start(plain), startAndCall, start(plain)}, []int64{1, 1, 2},
		},
		{
			"one that refused a call", []suite.Case{{}, {}, {SpoilsServer: true, Reuses: suite.ReuseUncalled}},
			[]func(context.Context, *suite.T) *client.Conversation{start(plain), startAndMiscall, start(plain)}, []int64{1, 1, 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				y := &toy{answer: func(start int64, m *wire.Message) []byte {
					switch {
					case m.Method == "which/server":
						return wire.NewResult(m.ID, map[string]any{"number": start})
					case m.Method == spec.MethodToolsCall && string(wire.At(m.Params(), "/name")) == `"tool"`:
						return wire.NewResult(m.ID, map[string]any{"content": []any{}})
					case m.Method == spec.MethodToolsCall:
						return wire.NewError(m.ID, -32602, "no such tool", nil)
					}
					return nil
				}}
				got := make([]int64, len(c.cases))
				for i := range c.cases {
					test := &c.cases[i]
					test.ID, test.Title, test.Requirements = fmt.Sprintf("toy.%d", i), "which server", []string{pinged}
					test.Run = func(ctx context.Context, t *suite.T) {
						r := c.open[i](ctx, t).Do(ctx, "which/server", nil)
						_, _ = fmt.Sscan(string(wire.At(r.Message.Result(), "/number")), &got[i])
					}
				}
				if _, err := judge(t, y, engine.Options{Cases: c.cases, Revisions: []spec.Revision{spec.V20250618}}); err != nil {
					t.Fatal(err)
				}
				for i := range got {
					got[i]-- // the first is the probe's
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("servers (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// start returns how a case starts its conversation with these options.
func start(o client.Options) func(ctx context.Context, t *suite.T) *client.Conversation {
	return func(ctx context.Context, t *suite.T) *client.Conversation { return t.Start(ctx, o) }
}

// startTwo starts two servers, and returns the conversation with the first.
func startTwo(ctx context.Context, t *suite.T) *client.Conversation {
	first := t.StartFresh(ctx, client.Options{})
	t.StartFresh(ctx, client.Options{})
	return first
}

// startAndCall starts a conversation, and calls a tool.
func startAndCall(ctx context.Context, t *suite.T) *client.Conversation {
	c := t.Start(ctx, client.Options{})
	c.Do(ctx, spec.MethodToolsCall, map[string]any{"name": "tool"})
	return c
}

// startAndMiscall is like startAndCall, but the server has no such tool.
func startAndMiscall(ctx context.Context, t *suite.T) *client.Conversation {
	c := t.Start(ctx, client.Options{})
	c.Do(ctx, spec.MethodToolsCall, map[string]any{"name": "none"})
	return c
}
