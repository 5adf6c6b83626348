package authorization

import (
	"context"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/oauth"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Limits on the requests that should make the server call the upstream service.
const (
	maxUpstreamCalls = 30 // of each kind
	upstreamCallTime = 5 * time.Second
)

// watchUpstream uses what the server offers, and looks for the client's token in the requests of
// the server to the service that it calls.
func watchUpstream(ctx context.Context, t *suite.T) {
	header, token := t.OutsideClient(t.Open(ctx, client.Options{})).Authorization()
	switch {
	case header == "":
		t.Skip("the server serves requests without a token")
	case token == "":
		t.GiveUp("mcp-conform was given no bearer token")
	case t.Upstream == nil:
		t.GiveUp("mcp-conform does not imitate a service that the server calls; see --upstream-env")
	}
	c := t.Start(ctx, client.Options{})
	before := t.Upstream.Calls()
	tools := t.Inventory.Callable()
	for _, tool := range tools[:min(len(tools), maxUpstreamCalls)] {
		suite.Call(ctx, c, tool, upstreamCallTime)
	}
	for _, uri := range t.Inventory.Resources[:min(len(t.Inventory.Resources), maxUpstreamCalls)] {
		c.Do(ctx, spec.MethodResourcesRead, map[string]any{"uri": uri}, client.Within(upstreamCallTime))
	}
	for _, name := range t.Inventory.BarePrompts[:min(len(t.Inventory.BarePrompts), maxUpstreamCalls)] {
		c.Do(ctx, spec.MethodPromptsGet, map[string]any{"name": name}, client.Within(upstreamCallTime))
	}
	if ctx.Err() != nil {
		t.GiveUp("the case ran out of time")
	}
	found := t.Upstream.Find(tokensOf(c), before)
	switch {
	case found != "":
		at := c.Record.Remark("the server sent " + found + " to the service that it calls").Seq
		t.Report(c, verdict.Deviation{
			Requirement: notPassedOn, Summary: "The server passes on its client's token to a service that it calls.",
			Permitted: "a token of the server's own", Seen: found, At: []int{at},
		})
	case t.Upstream.Calls() == before:
		t.GiveUp("no tool, resource or prompt made the server call the service")
	default:
		t.MarkKept(notPassedOn)
	}
}

// tokensOf returns the bearer tokens that a conversation has sent. A client may use a different
// token for each request.
func tokensOf(c *client.Conversation) []string {
	var out []string
	for _, x := range transcript.ExchangesOf(c.Record.From(0)).All() {
		if token := oauth.BearerToken(x.RequestHead().Get("Authorization")); token != "" && !slices.Contains(out, token) {
			out = append(out, token)
		}
	}
	return out
}
