package stateless

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// callTime bounds the wait for requests that may run code of the server's author.
const callTime = 3 * time.Second

const noBehaviour = "stateless.client-info-no-behaviour"

// clients are the client names in requests: those of well-known clients, one that no server knows,
// and "", which stands for a request without clientInfo. usualClient is the name in the control.
var clients = []string{"claude-ai", "Visual Studio Code", "cursor-vscode", "mcp-conform-unknown-client", ""}

const usualClient = "mcp-conform"

// identityCase compares what a server offers to clients with different names.
func identityCase() suite.Case {
	return suite.Case{
		ID:                 "stateless.client-info",
		Title:              "Compares server/discover and the lists for clients of different names",
		Requirements:       []string{noBehaviour},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			for _, method := range append([]string{spec.MethodDiscover}, t.DeclaredLists()...) {
				ordinary := requestAs(ctx, c, usualClient, method)
				if !ordinary.Succeeded() {
					continue
				}
				compareClients(ctx, t, c, method, ordinary)
			}
		},
	}
}

// compareClients compares the responses to a method for other client names with ordinary, the
// response to a request that differs only in the name. A difference counts only if it recurs when
// the request is repeated, and if the client with the usual name still gets the same response as
// before. Rules judge an error for a request without clientInfo.
func compareClients(ctx context.Context, t *suite.T, c *client.Conversation, method string, ordinary *client.Reply) {
	offered := offerOf(ordinary)
	for _, name := range clients {
		r := requestAs(ctx, c, name, method)
		if !r.Answered() || r.Busy() || name == "" && !r.Succeeded() {
			continue
		}
		if offerOf(r) == offered {
			t.MarkKept(noBehaviour)
			continue
		}
		if again := requestAs(ctx, c, name, method); offerOf(again) != offerOf(r) || offerOf(requestAs(ctx, c, usualClient, method)) != offered {
			t.MarkNotObserved(noBehaviour, "the response to "+method+" changes by itself")
			return
		}
		d := verdict.Deviation{
			Requirement: noBehaviour, Summary: "The server answers clients of different names differently.",
			Permitted: "the same versions, capabilities and lists, whatever clientInfo says",
			Seen:      method + " of the client " + wire.Excerpt(name, 40) + ": " + suite.Describe(r),
			At:        slices.Concat(ordinary.Positions(), r.Positions()),
		}
		if name == "" {
			d.Summary = "The server answers a client without clientInfo differently."
			d.Seen = method + " without clientInfo: " + suite.Describe(r)
		}
		t.Report(c, d)
		return
	}
}

// requestAs sends a request with another client name, or without clientInfo if the name is empty.
func requestAs(ctx context.Context, c *client.Conversation, name, method string) *client.Reply {
	meta := suite.WithoutMeta(c, spec.MetaClientInfo)
	if name != "" {
		meta[spec.MetaClientInfo] = map[string]any{"name": name, "version": "1"}
	}
	id := c.NewID()
	return c.DoRaw(ctx, id, suite.RequestWith(id, method, meta))
}

// offerOf returns what a result offers: versions, capabilities and instructions, or the URIs of
// listed items, or the names of those without a URI. For an error it returns the code.
func offerOf(r *client.Reply) string {
	if !r.Succeeded() {
		if !r.Answered() {
			return "no response"
		}
		return "error " + string(wire.At(r.Message.Member("error"), "/code"))
	}
	result := r.Message.Result()
	var parts []string
	for _, member := range []string{"supportedVersions", "capabilities", "instructions"} {
		v := slices.Clone(wire.At(result, "/"+member))
		if v != nil && v.Canonicalize() != nil {
			continue
		}
		parts = append(parts, string(v))
	}
	_, members := wire.Members(result)
	for _, list := range slices.Sorted(maps.Keys(members)) {
		var names []string
		for _, item := range wire.Elements(members[list]) {
			names = append(names, string(suite.EntryName(item)))
		}
		slices.Sort(names)
		if list != "supportedVersions" {
			parts = append(parts, names...)
		}
	}
	return strings.Join(parts, "\n")
}
