package tools

import (
	"bytes"
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A change is what the calls of a role are known to change, and how to observe that.
type change struct {
	role    inventory.Role
	needs   string // the capability
	summary string
	method  string // the method that reads what changes
	member  string // the member of the result
}

var changes = []change{
	{inventory.ChangesTools, "tools", "The server's tool does not change the tools as it is known to.", spec.MethodToolsList, "tools"},
	{inventory.ChangesPrompts, "prompts", "The server's tool does not change the prompts as it is known to.", spec.MethodPromptsList, "prompts"},
	{inventory.ChangesResources, "resources", "The server's tool does not change the resources as it is known to.", spec.MethodResourcesList, "resources"},
	{inventory.ChangesResource, "resources", "The server's tool does not change the resource as it is known to.", spec.MethodResourcesRead, "contents"},
}

// promisedChange is a call that changes something, according to the server's author. The function
// in the field call takes a number; each number makes another change.
type promisedChange struct {
	change

	call   func(number int) inventory.KnownCall
	params map[string]any // of the request that reads what changes
}

func promisedChanges(t *suite.T) []promisedChange {
	var out []promisedChange
	for _, c := range changes {
		all := t.Inventory.KnownCalls(c.role)
		if len(all) == 0 || !all[0].IsConfigured || !schemaAccepts(t, all[0]) || !t.Inventory.Declares(c.needs) {
			continue
		}
		p := promisedChange{change: c, call: func(number int) inventory.KnownCall { return t.Inventory.NumberedCall(c.role, number) }}
		if c.role == inventory.ChangesResource {
			_, uri, _ := t.Inventory.ResourceChangeCall()
			p.params = map[string]any{"uri": uri}
		}
		out = append(out, p)
	}
	return out
}

// knownChanges makes the calls that are known to change something, and reads what they change
// before and after.
func knownChanges(ctx context.Context, t *suite.T) {
	all := promisedChanges(t)
	if len(all) == 0 {
		t.GiveUp("the configuration names no permitted tool that is known to change something; name one under fixtures: in mcp-conform.yaml, as changes-resource, changes-tools, changes-resources or changes-prompts")
	}
	k := newCaller(t.Start(ctx, client.Options{}))
	for _, p := range all {
		if !p.judge(ctx, t, k) {
			return
		}
	}
}

// maxAttempts is how often a call is made until it changes something. At first it may change
// nothing, for example because something is already enabled.
const maxAttempts = 3

func (p promisedChange) judge(ctx context.Context, t *suite.T, k caller) bool {
	before, ok := p.read(ctx, k)
	if !ok {
		return ctx.Err() == nil && k.c.Alive()
	}
	var at []int
	for n := range maxAttempts {
		known := p.call(n + 1)
		r, more := k.callTool(ctx, known.Params())
		if !r.Succeeded() || inventory.Fails.IsShownBy(r.Message) || !more {
			return more // a call that failed need not change anything
		}
		t.AwaitQuiet(ctx, k.c) // the change may be made after the response
		after, ok := p.read(ctx, k)
		if !ok {
			return ctx.Err() == nil && k.c.Alive()
		}
		if !bytes.Equal(before, after) {
			t.MarkKept(knownEffect)
			return true
		}
		at = append(at, r.Positions()...)
	}
	t.Report(k.c, verdict.Deviation{
		Requirement: knownEffect, Summary: p.summary,
		Permitted: "another result of " + p.method + " after one of the calls",
		Seen:      "the same result after each of several calls of " + wire.Excerpt(p.call(1).Tool, 60), At: at, Fix: knownFix(p.call(1)),
	})
	return true
}

// read returns what the call changes; for a list, all pages together. It returns false if that
// can't be read.
func (p promisedChange) read(ctx context.Context, k caller) (jsontext.Value, bool) {
	if p.role == inventory.ChangesResource {
		r := k.c.Do(ctx, p.method, p.params, client.Within(callTime))
		if !r.Succeeded() {
			return nil, false
		}
		return wire.At(r.Message.Result(), "/"+p.member), true
	}
	from := k.c.Record.Len()
	inventory.Walk(ctx, k.c, p.method, p.member, maxPages)
	all, whole := []jsontext.Value{}, false
	for _, m := range receivedMessages(k.c.Record.From(from)) {
		if list := wire.At(m.Result(), "/"+p.member); list.Kind() == '[' {
			all, whole = append(all, wire.Elements(list)...), wire.At(m.Result(), "/nextCursor") == nil
		}
	}
	return wire.JSON(all), whole
}
