package completion

import (
	"context"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/uri"
)

// completableArgument is an argument of a prompt or a variable of a template for which values can
// be requested; ref is the reference to the prompt or template.
type completableArgument struct {
	ref  map[string]any
	name string
}

// completableArguments returns the first arguments of prompts, at most maxPrompts, and the first
// variables of templates, at most maxVariables.
func completableArguments(t *suite.T) []completableArgument {
	var out []completableArgument
	for _, p := range t.Inventory.PromptEntries {
		for _, a := range p.Arguments {
			if len(out) < maxPrompts {
				out = append(out, completableArgument{promptRef(p.Name), a.Name})
			}
		}
	}
	most := len(out) + maxVariables
	for _, template := range t.Inventory.Templates {
		for _, v := range uri.Parse(template).Variables {
			if len(out) < most {
				out = append(out, completableArgument{templateRef(template), v})
			}
		}
	}
	return out
}

// completeAll requests values for each argument and variable with an empty value, and for the
// first of each kind also with a prefix and with other values as context.
func completeAll(ctx context.Context, t *suite.T) {
	requireCompletion(t)
	all := completableArguments(t)
	if len(all) == 0 {
		t.Skip("the server has no prompt arguments and no template variables")
	}
	a := newCompleter(t.Conversation(ctx))
	kinds := map[any]bool{}
	for _, s := range all {
		if !a.complete(ctx, completeParams(s.ref, s.name, "")) {
			return
		}
		if kinds[s.ref["type"]] {
			continue
		}
		kinds[s.ref["type"]] = true
		chosen := completeParams(s.ref, s.name, "")
		chosen["context"] = map[string]any{"arguments": map[string]any{"mcp-conform": "text"}}
		if !a.complete(ctx, completeParams(s.ref, s.name, "a")) || !a.complete(ctx, chosen) {
			return
		}
	}
}

func completeUnknown(ctx context.Context, t *suite.T) {
	requireCompletion(t)
	c := t.Conversation(ctx)
	if c.Server().Declares("prompts") { // earlier tool calls may have changed the list
		inventory.Walk(ctx, c, spec.MethodPromptsList, "prompts", maxPages)
		t.WalkUnlessNotified(ctx, spec.MethodPromptsList, "prompts", maxPages)
	}
	a := newCompleter(c)
	requests := []map[string]any{
		completeParams(promptRef(unknownName), "name", ""),
		completeParams(templateRef("mcp-conform://no-such-template/{name}"), "name", ""),
	}
	if all := completableArguments(t); len(all) > 0 {
		requests = append(requests, completeParams(all[0].ref, unknownName, ""))
	}
	a.probeInvalid(ctx, t, requests...)
	t.ResendAlone(ctx, c, suite.Request{Method: spec.MethodComplete, Params: requests[0]})
}

// completeMalformed refers to existing items where possible, so that nothing else is wrong with the
// requests.
func completeMalformed(ctx context.Context, t *suite.T) {
	requireCompletion(t)
	s := completableArgument{promptRef(unknownName), unknownName}
	if all := completableArguments(t); len(all) > 0 {
		s = all[0]
	}
	argument := func(name, value any) map[string]any { return map[string]any{"name": name, "value": value} }
	a := newCompleter(t.Conversation(ctx))
	a.probeInvalid(ctx, t, []map[string]any{
		{"ref": s.ref},
		{"argument": argument(s.name, "")},
		{"ref": s.ref, "argument": map[string]any{"value": ""}},
		{"ref": s.ref, "argument": map[string]any{"name": s.name}},
		{"ref": map[string]any{"type": "ref/mcp-conform", "name": "text"}, "argument": argument(s.name, "")},
		{"ref": s.ref, "argument": argument(s.name, 5)},
		{"ref": s.ref, "argument": []any{s.name, ""}},
		{"ref": s.ref, "argument": argument(s.name, strings.Repeat("x", 100_000))},
	}...)
}

// completeUndeclared requests values although the server does not declare completions. Every server
// with completion would understand the request.
func completeUndeclared(ctx context.Context, t *suite.T) {
	if mayComplete(t) {
		t.Skip("the server declares completions, or the revision has no such capability")
	}
	a := newCompleter(t.Conversation(ctx))
	s := completableArgument{promptRef(unknownName), unknownName}
	if all := completableArguments(t); len(all) > 0 {
		s = all[0]
	}
	for range t.Probe(ctx, a.c, suite.Probe{
		Control: t.OrdinaryRequest(""), Odd: suite.OddParams(spec.MethodComplete, completeParams(s.ref, s.name, "")), ByName: true, Limit: requestTime,
	}) { // rules judge the response
	}
}

// probeInvalid sends invalid requests after a valid one with which they are compared.
func (a completer) probeInvalid(ctx context.Context, t *suite.T, params ...map[string]any) {
	control := t.OrdinaryRequest("")
	if all := completableArguments(t); len(all) > 0 {
		control = suite.Request{Method: spec.MethodComplete, Params: completeParams(all[0].ref, all[0].name, "")}
	}
	for range t.Probe(ctx, a.c, suite.Probe{Control: control, Odd: suite.OddParams(spec.MethodComplete, params...), ByName: true, Limit: requestTime}) {
		if !a.hasTime(ctx) {
			return
		}
	}
}
