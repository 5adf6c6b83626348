// Package tools creates the traffic for the rules on tools. It lists and calls tools, with valid
// and invalid requests. It calls only tools that the policy permits.
package tools

import (
	"context"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Limits on what a case requests, because a server may have many tools or respond slowly.
const (
	maxPages    = 20              // of the list, when it is walked again
	maxLinks    = 3               // resources that are read
	maxTools    = 20              // tools called with valid arguments
	maxProvoked = 5               // tools called with invalid arguments
	callTime    = 3 * time.Second // for each call
	allCalls    = 8 * time.Second // for the calls of a case, plus the time for leastCalls; the remaining calls are skipped
	leastCalls  = 40              // allCalls is extended by the time for this many responses
	fastTime    = time.Second     // longest response time of tools that are called again with other arguments
)

// unknownName is the name of no tool.
const unknownName = "mcp-conform-no-such-tool"

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:           "tools.lists",
			Title:        "tools/list with empty params, and without any",
			Requirements: []string{description},
			Provokes: []string{
				"tools.list.", "tools.list-changed.", "tools.name.", "tools.description.", "tools.input-schema.",
				"tools.output-schema.", "tools.annotations.", "content.icons.", "content.title.",
			},
			Needs:              []string{"tools"},
			SharesConversation: true,
			Run:                walkList,
		},
		{
			ID:                 "tools.unknown",
			Title:              "Calls an unknown tool, and a listed one in other letter case",
			Provokes:           []string{"tools.call.unknown-tool-error", "tools.call.unknown-tool-code", "tools.name.case-sensitive"},
			Needs:              []string{"tools"},
			SharesConversation: true,
			Run:                callUnknown,
		},
		{
			ID:                 "tools.malformed-calls",
			Title:              "Calls tools without a name, with a number for a name, and with arguments that are not an object",
			Provokes:           []string{"tools.call.malformed-request-error"},
			Needs:              []string{"tools"},
			SharesConversation: true,
			Run:                sendMalformedCalls,
		},
		{
			ID:    "tools.calls",
			Title: "Calls the callable tools with minimal arguments and a progress token",
			Provokes: []string{
				"tools.capability.", "tools.call.", "tools.structured.", "tools.embedded-resource.", "tools.resource-link.", "content.",
				"progress.", "sampling.", "elicitation.", "roots.", "logging.",
			},
			Needs:              []string{"tools"},
			SharesConversation: true,
			Run:                callTools,
		},
		{
			ID:           "tools.known-calls",
			Title:        "Calls fixtures, and checks that they do what they are known for",
			Requirements: []string{knownEffect},
			Provokes: []string{
				"tools.call.", "tools.structured.", "tools.embedded-resource.", "tools.resource-link.", "content.",
				"progress.", "sampling.", "elicitation.", "roots.", "logging.",
			},
			Needs: []string{"tools"},
			Quick: true,
			Run:   knownCalls,
		},
		{
			ID:           "tools.known-changes",
			Title:        "Calls fixtures that change something, and reads it before and after",
			Requirements: []string{knownEffect},
			Needs:        []string{"tools"},
			Exclusive:    true, // changes may be visible to other sessions
			Run:          knownChanges,
		},
		{
			ID:           "tools.wrong-arguments",
			Title:        "Calls tools with arguments that violate their schemas",
			Requirements: []string{requestAnswered},
			Provokes: []string{
				"tools.call.invalid-arguments-rejected-2024-11-05", "tools.call.invalid-arguments-is-execution-error-2025-11-25",
				"tools.call.validates-inputs", "tools.call.execution-error-explains", "base.json-schema-2020-12",
			},
			Needs:              []string{"tools"},
			SharesConversation: true,
			Run:                callWithWrongArguments,
		},
		{
			ID:                 "tools.changes",
			Title:              "Walks through the list of tools once more",
			Provokes:           []string{"tools.list-changed."},
			Needs:              []string{"tools"},
			SharesConversation: true,
			Run:                func(ctx context.Context, t *suite.T) { t.WalkAgain(ctx, spec.MethodToolsList, "tools", maxPages) },
		},
		{
			ID:    "tools.other-arguments",
			Title: "Calls fast tools with all their arguments, and with other enum values",
			Provokes: []string{
				"tools.call.", "tools.structured.", "tools.embedded-resource.", "tools.resource-link.", "content.",
				"progress.", "sampling.", "elicitation.", "roots.", "logging.",
			},
			Needs:              []string{"tools"},
			SharesConversation: true,
			Run:                callToolsAgain,
		},
		{
			ID:                 "tools.long-calls",
			Title:              "Calls an unknown tool with a name of 20 KB, and tools with a string of 20 KB",
			Provokes:           []string{"stdio.no-embedded-newlines", "stdio.newline-delimited", "stdio.stdout-only-messages", "base.response-id-echo"},
			Needs:              []string{"tools"},
			SharesConversation: true,
			Run:                callWithLongText,
		},
		{
			ID:                 "tools.undeclared",
			Title:              "Lists and calls tools where tools are not declared",
			Provokes:           []string{"tools.capability.declared", "tools.call.not-supported-error"},
			SharesConversation: true,
			Run:                callUndeclared,
		},
	}
}

func walkList(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	c.Do(ctx, spec.MethodToolsList, map[string]any{})
	noteDescriptions(t, c, c.Do(ctx, spec.MethodToolsList, nil))
}

// callUndeclared calls a tool that can't exist, because the effect of an undeclared tool is
// unknown.
func callUndeclared(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	if c.Server().Declares("tools") {
		t.Skip("the server declares tools")
	}
	odd := []suite.Request{{Method: spec.MethodToolsList}, suite.ValidCall(unknownName, map[string]any{})}
	newCaller(c).probe(ctx, t, suite.Probe{Control: t.OrdinaryRequest(""), Odd: odd, ByName: true})
}

// caller calls tools one after the other, within time limits.
type caller struct {
	c     *client.Conversation
	since transcript.Moment
	limit time.Duration
}

func newCaller(c *client.Conversation) caller {
	return caller{c, c.Record.Moment(), allCalls + leastCalls*c.FastestResponse()}
}

// mayContinue reports whether more calls may follow.
func (k caller) mayContinue(ctx context.Context) bool {
	return ctx.Err() == nil && k.c.Alive() && k.c.Record.Since(k.since) < k.limit
}

// call calls a tool and reports whether more calls may follow.
func (k caller) call(ctx context.Context, params map[string]any) bool {
	_, more := k.callTool(ctx, params)
	return more
}

// callTool calls a tool. If the server announces a changed list of tools, callTool lists the tools
// again, as a client does, because the old list says nothing about later calls.
func (k caller) callTool(ctx context.Context, params map[string]any) (r *client.Reply, more bool) {
	from := k.c.Record.Len()
	r = k.c.Do(ctx, spec.MethodToolsCall, params, client.Within(callTime))
	if slices.ContainsFunc(receivedMessages(k.c.Record.From(from)), func(m *wire.Message) bool { return m.Method == spec.MethodToolsChanged }) {
		inventory.Walk(ctx, k.c, spec.MethodToolsList, "tools", maxPages)
	}
	return r, k.mayContinue(ctx)
}

// probe sends odd calls after the control, the ordinary call with which they are compared. It
// reports whether the control was served, and whether more calls may follow.
func (k caller) probe(ctx context.Context, t *suite.T, p suite.Probe) (controlServed, more bool) {
	p.Limit = callTime
	for r := range t.Probe(ctx, k.c, p) {
		controlServed = r.Control.Served
		if k.c.Record.Since(k.since) >= k.limit {
			break
		}
	}
	return controlServed, k.mayContinue(ctx)
}
