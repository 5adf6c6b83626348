// Package prompts creates the traffic for the rules on prompts. It lists and gets prompts, with
// valid and invalid requests.
package prompts

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// Limits on what a case requests, because a server may have many prompts or respond slowly.
const (
	maxPages    = 20              // of the list, when it is walked again
	maxPrompts  = 10              // prompts requested with valid params
	maxProvoked = 3               // prompts requested in more ways, such as with invalid arguments
	getTime     = 3 * time.Second // for each request
	allGets     = 8 * time.Second // for the requests of a case; the rest is skipped
)

const gettable = "prompts.get.listed-is-gettable"

// unknownName is the name of no prompt.
const unknownName = "mcp-conform-no-such-prompt"

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:                 "prompts.lists",
			Title:              "prompts/list with empty params, and without any",
			Provokes:           []string{"prompts.list.", "prompts.list-changed.", "prompts.name.", "content.icons.", "content.title."},
			Needs:              []string{"prompts"},
			SharesConversation: true,
			Run:                walkLists,
		},
		{
			ID:    "prompts.gets",
			Title: "Gets prompts with required arguments, with all arguments, and without any",
			Provokes: []string{
				"prompts.capability.", "prompts.get.result-schema", "prompts.get.listed-is-gettable", "prompts.get.arguments-optional",
				"prompts.message.", "content.",
			},
			Needs:              []string{"prompts"},
			SharesConversation: true,
			Run:                getPrompts,
		},
		{
			ID:           "prompts.arguments",
			Title:        "Gets prompts twice, with different values of an argument",
			Requirements: []string{ownArguments},
			Needs:        []string{"prompts"},
			Run:          compareArguments, // not in the shared conversation, in which other cases get prompts
		},
		{
			ID:                 "prompts.promised",
			Title:              "Gets prompts with values that are known to be valid",
			Requirements:       []string{gettable},
			Needs:              []string{"prompts"},
			SharesConversation: true,
			Run:                getSimplePrompts,
		},
		{
			ID:                 "prompts.unknown",
			Title:              "Gets an unknown prompt, and one without a name",
			Provokes:           []string{"prompts.get.unknown-name", "prompts.get.missing-name"},
			Needs:              []string{"prompts"},
			SharesConversation: true,
			Run:                getUnknown,
		},
		{
			ID:                 "prompts.wrong-arguments",
			Title:              "Gets prompts without a required argument, and with values that are not strings",
			Provokes:           []string{"prompts.get.missing-required-argument", "prompts.get.validates-arguments"},
			Needs:              []string{"prompts"},
			SharesConversation: true,
			Run:                getWithWrongArguments,
		},
		{
			ID:                 "prompts.changes",
			Title:              "Walks through the list of prompts once more",
			Provokes:           []string{"prompts.list-changed."},
			Needs:              []string{"prompts"},
			SharesConversation: true,
			Run:                func(ctx context.Context, t *suite.T) { t.WalkAgain(ctx, spec.MethodPromptsList, "prompts", maxPages) },
		},
		{
			ID:       "prompts.changed",
			Title:    "Changes the list of prompts",
			Provokes: []string{"prompts.list-changed."},
			Needs:    []string{"prompts", "tools"},
			OnlyOver: spec.Stdio,
			Run:      getAfterChange, // over Streamable HTTP, streamable-http.list-changes does this
		},
		{
			ID:                 "prompts.undeclared",
			Title:              "Lists and gets prompts where prompts are not declared",
			Provokes:           []string{"prompts.capability.declared", "prompts.get.not-supported-error"},
			SharesConversation: true,
			Run:                useUndeclared,
		},
		{
			ID:                 "prompts.files",
			Title:              "Gets prompts with the path and the URI of a file, and searches the result for its content",
			Requirements:       []string{validates},
			Needs:              []string{"prompts"},
			SharesConversation: true,
			Run:                sendFileNames,
		},
	}
}

func walkLists(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	c.Do(ctx, spec.MethodPromptsList, map[string]any{})
	c.Do(ctx, spec.MethodPromptsList, nil)
}

// getter gets prompts one after the other, within time limits.
type getter struct {
	c     *client.Conversation
	since transcript.Moment
}

func newGetter(c *client.Conversation) getter { return getter{c, c.Record.Moment()} }

// getPrompt gets a prompt, with arguments unless they are nil, and reports whether more requests
// may follow.
func (g getter) getPrompt(ctx context.Context, name string, arguments map[string]any) bool {
	params := map[string]any{"name": name}
	if arguments != nil {
		params["arguments"] = arguments
	}
	g.c.Do(ctx, spec.MethodPromptsGet, params, client.Within(getTime))
	return g.hasTime(ctx)
}

// probe sends odd requests after the control, the ordinary request with which they are compared,
// and reports whether more requests may follow.
func (g getter) probe(ctx context.Context, t *suite.T, p suite.Probe) bool {
	p.Limit = getTime
	for range t.Probe(ctx, g.c, p) {
		if !g.hasTime(ctx) {
			return false
		}
	}
	return g.hasTime(ctx)
}

// hasTime reports whether more requests may follow.
func (g getter) hasTime(ctx context.Context) bool {
	return ctx.Err() == nil && g.c.Alive() && g.c.Record.Since(g.since) < allGets
}

// firstPrompts returns the first prompts, at most n, for which fit returns true.
func firstPrompts(t *suite.T, n int, fit func(inventory.Prompt) bool) []inventory.Prompt {
	var out []inventory.Prompt
	for _, p := range t.Inventory.PromptEntries {
		if len(out) < n && fit(p) {
			out = append(out, p)
		}
	}
	return out
}

func getPrompts(ctx context.Context, t *suite.T) {
	prompts := firstPrompts(t, maxPrompts, func(inventory.Prompt) bool { return true })
	if len(prompts) == 0 {
		t.Skip("no prompt is listed")
	}
	g := newGetter(t.Conversation(ctx))
	for i, p := range prompts {
		if least := p.Values(false); !g.getPrompt(ctx, p.Name, least) {
			return
		}
		if len(p.RequiredArguments()) == 0 && !g.getPrompt(ctx, p.Name, nil) {
			return
		}
		if i < maxProvoked && len(p.Arguments) > len(p.RequiredArguments()) && !g.getPrompt(ctx, p.Name, p.Values(true)) {
			return
		}
	}
}

// getSimplePrompts gets prompts with values that the server has no reason to refuse.
func getSimplePrompts(ctx context.Context, t *suite.T) {
	prompts := t.Inventory.PromisedPrompts()
	if len(prompts) == 0 {
		t.GiveUp("the configuration names no prompt that is known to work with given values; give its values under prompts: arguments: in mcp-conform.yaml")
	}
	g := newGetter(t.Conversation(ctx))
	for _, p := range prompts[:min(len(prompts), maxPrompts)] {
		r := g.c.Do(ctx, spec.MethodPromptsGet, map[string]any{"name": p.Name, "arguments": p.Values(true)}, client.Within(getTime))
		t.Expect(g.c, r).Keeps(gettable, "The server refuses a prompt that is known to work.", suite.BeResult())
		if !g.hasTime(ctx) {
			return
		}
	}
}

func getUnknown(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	t.WalkUnlessNotified(ctx, spec.MethodPromptsList, "prompts", maxPages)
	odd := suite.OddParams(spec.MethodPromptsGet, map[string]any{"name": unknownName}, map[string]any{"arguments": map[string]any{}})
	newGetter(c).probe(ctx, t, suite.Probe{Control: t.OrdinaryRequest(spec.MethodPromptsGet), ByName: true, Odd: odd})
	t.ResendAlone(ctx, c, odd[0])
}

func getWithWrongArguments(ctx context.Context, t *suite.T) {
	prompts := firstPrompts(t, maxProvoked, func(p inventory.Prompt) bool { return len(p.Arguments) > 0 })
	if len(prompts) == 0 {
		t.Skip("no prompt takes arguments")
	}
	g := newGetter(t.Conversation(ctx))
	for _, p := range prompts {
		var odd []map[string]any
		if required := p.RequiredArguments(); len(required) > 0 {
			less := p.Values(false)
			delete(less, required[0])
			odd = append(odd, map[string]any{"name": p.Name, "arguments": less}, map[string]any{"name": p.Name})
		}
		for _, wrong := range []any{5, map[string]any{"a": []any{}}, nil} {
			values := p.Values(false)
			values[p.Arguments[0].Name] = wrong
			odd = append(odd, map[string]any{"name": p.Name, "arguments": values})
		}
		valid := suite.Request{Method: spec.MethodPromptsGet, Params: map[string]any{"name": p.Name, "arguments": p.Values(false)}}
		if !g.probe(ctx, t, suite.Probe{Control: valid, Odd: suite.OddParams(spec.MethodPromptsGet, odd...)}) {
			return
		}
	}
}

func useUndeclared(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	if c.Server().Declares("prompts") {
		t.Skip("the server declares prompts")
	}
	odd := []suite.Request{{Method: spec.MethodPromptsList}, {Method: spec.MethodPromptsGet, Params: map[string]any{"name": unknownName}}}
	newGetter(c).probe(ctx, t, suite.Probe{Control: t.OrdinaryRequest(""), Odd: odd, ByName: true})
}

// getAfterChange walks through the list before and after a call that is known to change it.
func getAfterChange(ctx context.Context, t *suite.T) {
	t.RequireTool(inventory.ChangesPrompts)
	change, _ := t.Inventory.ListChangeCall(spec.MethodPromptsList)
	c := t.Conversation(ctx)
	inventory.Walk(ctx, c, spec.MethodPromptsList, "prompts", maxPages)
	for range 2 { // the second call may remove what the first one added
		from := c.Record.Len()
		c.Do(ctx, spec.MethodToolsCall, change.Params(), client.Within(getTime))
		_ = c.AwaitQuiet(ctx) // the notification may come a little later
		inventory.Walk(ctx, c, spec.MethodPromptsList, "prompts", maxPages)
		if !t.Inventory.Declares("prompts.listChanged") || !t.AwaitNotification(ctx, c, from, spec.MethodPromptsChanged) {
			return
		}
	}
}
