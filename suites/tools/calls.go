package tools

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// ready are tools that may be called, with the least arguments that they take.
type ready struct {
	inventory.Tool
	arguments map[string]any
}

// readyTools returns the first tools for which arguments can be made; it ends
// the case where there is none.
func readyTools(t *suite.T) []ready {
	t.NeedsCallable()
	callable := t.Inventory.Callable()
	var out []ready
	for _, tool := range callable {
		if t.Disturbs(tool) {
			continue
		}
		if arguments, err := tool.Arguments(); err == nil && len(out) < maxTools {
			out = append(out, ready{tool, arguments})
		}
	}
	if len(out) == 0 {
		t.GiveUp("for no tool that may be called arguments could be made")
	}
	return out
}

// calls calls each tool; the first that needs no arguments without them, too,
// and some with more arguments than they require.
func calls(ctx context.Context, t *suite.T) {
	tools := readyTools(t)
	k := newCaller(t.Conversation(ctx))
	bare := slices.IndexFunc(tools, func(r ready) bool { return len(r.arguments) == 0 })
	if bare >= 0 && !k.call(ctx, map[string]any{"name": tools[bare].Name}) {
		return
	}
	var links []string
	for i, r := range tools {
		reply, more := k.reply(ctx, map[string]any{
			"name": r.Name, "arguments": r.arguments,
			"_meta": map[string]any{"progressToken": "mcp-conform-call-" + strconv.Itoa(i)},
		})
		if !more {
			return
		}
		links = append(links, resourceLinks(reply)...)
		if i >= maxMore {
			continue
		}
		for _, arguments := range r.More() {
			if !k.call(ctx, map[string]any{"name": r.Name, "arguments": arguments}) {
				return
			}
		}
	}
	if !k.c.Server().Declares("resources") {
		return
	}
	for _, uri := range links[:min(len(links), maxLinks)] {
		k.c.TryFor(ctx, callTime, spec.MethodResourcesRead, map[string]any{"uri": uri})
	}
}

// resourceLinks returns the URIs of the resources that the result of a tool
// links to, and that a server reads for its clients.
func resourceLinks(r *client.Reply) []string {
	if !r.Succeeded() {
		return nil
	}
	var out []string
	for _, block := range wire.Elements(wire.At(r.Message.Result(), "/content")) {
		kind, _ := wire.Text(wire.At(block, "/type"))
		uri, ok := wire.Text(wire.At(block, "/uri"))
		if kind == "resource_link" && ok && !strings.HasPrefix(strings.ToLower(uri), "http") {
			out = append(out, uri)
		}
	}
	return out
}

func unknown(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	t.MakeSure(ctx, spec.MethodToolsList, "tools", maxPages)
	r := c.Ask(ctx, spec.MethodToolsCall, map[string]any{"name": unknownName, "arguments": map[string]any{}})
	if !r.Answered() {
		return
	}
	for _, tool := range t.Inventory.Callable() {
		name := otherCase(tool.Name)
		arguments, err := tool.Arguments()
		if err == nil && name != tool.Name && !slices.ContainsFunc(t.Inventory.Tools, func(o inventory.Tool) bool { return o.Name == name }) {
			newCaller(c).call(ctx, map[string]any{"name": name, "arguments": arguments})
			return
		}
	}
}

// otherCase returns the name with the case of its first letter changed.
func otherCase(name string) string {
	i := strings.IndexFunc(name, func(r rune) bool { return r < unicode.MaxASCII && unicode.IsLetter(r) })
	if i < 0 {
		return name
	}
	letter := strings.ToUpper(name[i : i+1])
	if letter == name[i:i+1] {
		letter = strings.ToLower(letter)
	}
	return name[:i] + letter + name[i+1:]
}

// malformed has a tool's name in calls only where the tool may be called, as a
// lenient server might call it.
func malformed(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	requests := []map[string]any{{"arguments": map[string]any{}}, {"name": 5, "arguments": map[string]any{}}}
	for _, tool := range t.Inventory.Callable() {
		if arguments, err := tool.Arguments(); err == nil && len(arguments) == 0 {
			requests = append(requests,
				map[string]any{"name": tool.Name, "arguments": []any{}}, map[string]any{"name": tool.Name, "arguments": "text"})
			break
		}
	}
	k := newCaller(c)
	for _, params := range requests {
		if !k.call(ctx, params) {
			return
		}
	}
}

// wrongArguments calls only tools that may be called, as a lenient tool runs.
func wrongArguments(ctx context.Context, t *suite.T) {
	var tools []ready
	for _, r := range readyTools(t) {
		if len(r.WrongArguments()) > 0 && len(tools) < maxProvoked {
			tools = append(tools, r)
		}
	}
	if len(tools) == 0 {
		t.Skip("no tool that may be called has arguments that could be wrong")
	}
	k := newCaller(t.Conversation(ctx))
	for _, r := range tools {
		for _, wrong := range r.WrongArguments() {
			if !k.call(ctx, map[string]any{"name": r.Name, "arguments": wrong.Arguments}) {
				return
			}
		}
	}
}
