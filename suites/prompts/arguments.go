package prompts

import (
	"context"
	"maps"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const ownArguments = "prompts.get.own-arguments"

// The two values of an argument; neither contains the other.
const (
	firstValue  = "mcp-conform-first"
	secondValue = "mcp-conform-second"
)

// compareArguments gets prompts twice, with different values of an argument. A result for the
// second value that contains the first, but not the second, was made for another request.
func compareArguments(ctx context.Context, t *suite.T) {
	prompts := firstPrompts(t, maxProvoked, func(p inventory.Prompt) bool { return len(p.Arguments) > 0 })
	if len(prompts) == 0 {
		t.Skip("no prompt takes arguments")
	}
	g := newGetter(t.Conversation(ctx))
	for _, p := range prompts {
		for _, a := range p.Arguments {
			if !g.compareArgument(ctx, t, p, a.Name) {
				return
			}
		}
	}
}

// compareArgument judges one argument of a prompt, and reports whether more requests may follow.
func (g getter) compareArgument(ctx context.Context, t *suite.T, p inventory.Prompt, argument string) bool {
	get := func(value string) *client.Reply {
		values := maps.Clone(p.Values(false))
		values[argument] = value
		return g.c.Do(ctx, spec.MethodPromptsGet, map[string]any{"name": p.Name, "arguments": values}, client.Within(getTime))
	}
	before := get(firstValue)
	if !before.Succeeded() || !strings.Contains(string(before.Message.Result()), firstValue) {
		return g.hasTime(ctx) // the prompt does not show this argument
	}
	after := get(secondValue)
	if !after.Succeeded() {
		return g.hasTime(ctx)
	}
	switch result := string(after.Message.Result()); {
	case strings.Contains(result, secondValue):
		t.MarkKept(ownArguments)
	case strings.Contains(result, firstValue):
		t.Report(g.c, verdict.Deviation{
			Requirement: ownArguments,
			Summary:     "The server returns a prompt with an earlier request's arguments.",
			Permitted:   "messages made with the arguments of this request: " + argument + " is " + secondValue,
			Seen:        wire.Excerpt(result, 200),
			At:          transcript.Positions(before.Sent, before.Event, after.Sent, after.Event),
		})
	}
	return g.hasTime(ctx)
}
