package stateless

import (
	"context"
	"maps"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// metadataCase sends requests without required metadata. Rules judge the responses.
func metadataCase() suite.Case {
	return suite.Case{
		ID:    "stateless.metadata",
		Title: "Sends requests without _meta, without each of its required keys, and with keys of the wrong type",
		Provokes: []string{
			"stateless.meta-missing", "stateless.meta-protocol-version-required", "stateless.meta-client-capabilities-required",
			"stateless.meta-malformed", "stateless.meta-missing-http-400", "discover.requires-meta",
		},
		// A server of both eras may regard a request without a version, and all later requests, as
		// those of an older revision. So these requests come last, in a conversation of their own.
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			methods := append([]string{spec.MethodDiscover}, firstOnly(t.DeclaredLists())...)
			methods = slices.DeleteFunc(methods, func(method string) bool {
				return !c.Do(ctx, method, nil).Succeeded() // its refusals would show nothing
			})
			for _, params := range slices.Concat(malformedParams(c), versionlessParams(c)) {
				for _, method := range methods {
					id := c.NewID()
					sendIncomplete(ctx, c, id, wire.NewRequest(id, method, params))
				}
			}
		},
	}
}

// firstOnly returns a slice with the first element of all, or an empty one if all is empty.
func firstOnly[E any](all []E) []E { return all[:min(len(all), 1)] }

// malformedParams returns params whose metadata lacks the capabilities or has a member of
// the wrong type. The first three name a version.
func malformedParams(c *client.Conversation) []any {
	return []any{
		map[string]any{"_meta": suite.WithoutMeta(c, spec.MetaClientCapabilities)},
		map[string]any{"_meta": suite.WithMeta(c, spec.MetaClientCapabilities, []any{})},
		map[string]any{"_meta": suite.WithMeta(c, spec.MetaClientCapabilities, nil)},
		map[string]any{"_meta": suite.WithMeta(c, spec.MetaVersion, 20260728)},
		map[string]any{"_meta": "text"},
	}
}

// versionlessParams returns params that name no version; nil stands for a request without params.
func versionlessParams(c *client.Conversation) []any {
	return []any{
		map[string]any{"_meta": suite.WithoutMeta(c, spec.MetaVersion)},
		map[string]any{"_meta": map[string]any{}},
		nil,
		map[string]any{},
	}
}

// sendIncomplete sends a request. If it names no version, a server that also speaks handshake
// revisions may regard it as sent before initialize, and leave it unanswered.
func sendIncomplete(ctx context.Context, c *client.Conversation, id wire.ID, frame []byte) *client.Reply {
	if _, named := wire.Text(wire.At(wire.Parse(frame).Messages[0].Params(), spec.MetaPointer(spec.MetaVersion))); !named {
		return c.DoRaw(ctx, id, frame, client.MayIgnore)
	}
	return c.DoRaw(ctx, id, frame)
}

const (
	infoOptional     = "stateless.client-info-optional"
	infoMembers      = "stateless.client-info-members"
	capabilitiesOpen = "stateless.client-capabilities-open"
)

// anonymousCase sends one request of each kind without clientInfo, and with all that a client may
// say about itself. A rule judges the responses to requests without clientInfo that have no params
// besides _meta.
func anonymousCase() suite.Case {
	return suite.Case{
		ID:                 "stateless.anonymous",
		Title:              "Sends one request of each kind without clientInfo, with all its members, and with unknown capabilities",
		Requirements:       []string{infoOptional, infoMembers, capabilitiesOpen},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			for _, r := range servedRequests(ctx, t, c) {
				reply := sendWithMeta(ctx, c, r, suite.WithoutMeta(c, spec.MetaClientInfo))
				if r.Params != nil { // otherwise a rule judges it
					t.Expect(c, reply).Keeps(infoOptional, "The server refuses a request without clientInfo.", suite.BeResult())
				}
				introduce(ctx, t, c, r)
			}
		},
	}
}

// introduce sends a request with all members of clientInfo and with unknown capabilities. If the
// server refuses it, introduce sends one with each of them, and one with neither.
func introduce(ctx context.Context, t *suite.T, c *client.Conversation, r suite.Request) {
	info := client.ClientInfo()
	maps.Copy(info, map[string]any{
		"title": "MCP Conform", "description": "Judges servers", "websiteUrl": "https://example.com/",
		"icons": []any{map[string]any{"src": "https://example.com/icon.png", "mimeType": "image/png", "sizes": []string{"48x48"}}},
	})
	capabilities, _ := c.Metadata()[spec.MetaClientCapabilities].(map[string]any)
	capabilities = maps.Clone(capabilities)
	capabilities["x-unknown"] = map[string]any{}
	capabilities["experimental"] = map[string]any{"com.example/x": map[string]any{}}
	both := suite.WithMeta(c, spec.MetaClientInfo, info)
	both[spec.MetaClientCapabilities] = capabilities
	switch reply := sendWithMeta(ctx, c, r, both); {
	case reply.Succeeded():
		t.MarkKept(infoMembers)
		t.MarkKept(capabilitiesOpen)
		return
	case !reply.Answered() || reply.Busy():
		return
	}
	for _, odd := range []struct {
		requirement, summary, permitted string
		meta                            map[string]any
	}{
		{infoMembers, "The server refuses a clientInfo with more than name and version.", "a result, as title, description, websiteUrl and icons are members, too", suite.WithMeta(c, spec.MetaClientInfo, info)},
		{capabilitiesOpen, "The server refuses a request with unknown client capabilities.", "a result, as capabilities are an open set", suite.WithMeta(c, spec.MetaClientCapabilities, capabilities)},
	} {
		reply := sendWithMeta(ctx, c, r, odd.meta)
		ordinary := sendWithMeta(ctx, c, r, c.Metadata())
		switch {
		case reply.Succeeded():
			t.MarkKept(odd.requirement)
		case !reply.Answered() || reply.Busy():
		case !ordinary.Succeeded():
			t.MarkNotObserved(odd.requirement, "the server did not serve "+r.Method+" with the usual metadata, either")
		default:
			t.Report(c, verdict.Deviation{
				Requirement: odd.requirement, Summary: odd.summary, Permitted: odd.permitted,
				Seen: suite.Describe(reply), At: slices.Concat(reply.Positions(), ordinary.Positions()),
			})
		}
	}
}

// servedRequests sends one request of each kind, and returns those that were served.
func servedRequests(ctx context.Context, t *suite.T, c *client.Conversation) []suite.Request {
	requests := []suite.Request{{Method: spec.MethodDiscover}}
	for _, method := range t.DeclaredLists() {
		requests = append(requests, suite.Request{Method: method})
		if method == spec.MethodResourcesList {
			requests = append(requests, suite.Request{Method: spec.MethodResourcesTemplates})
		}
	}
	for _, method := range []string{spec.MethodResourcesRead, spec.MethodPromptsGet, spec.MethodToolsCall} {
		if r := t.OrdinaryRequest(method); r.Method == method {
			requests = append(requests, r)
		}
	}
	requests = append(requests, firstOnly(completions(t))...)
	return slices.DeleteFunc(requests, func(r suite.Request) bool {
		return !c.Do(ctx, r.Method, r.Params, client.Within(callTime), client.OneRound).Succeeded()
	})
}

// sendWithMeta sends a request with this _meta.
func sendWithMeta(ctx context.Context, c *client.Conversation, r suite.Request, meta map[string]any) *client.Reply {
	id := c.NewID()
	return c.DoRaw(ctx, id, wire.NewRequest(id, r.Method, paramsWithMeta(r, meta)), client.Within(callTime))
}

// paramsWithMeta returns the params of a request with this _meta.
func paramsWithMeta(r suite.Request, meta map[string]any) map[string]any {
	params := maps.Clone(r.Params)
	if params == nil {
		params = map[string]any{}
	}
	params["_meta"] = meta
	return params
}

// completions returns a completion request for each argument of a prompt.
func completions(t *suite.T) []suite.Request {
	var out []suite.Request
	if !t.Inventory.Declares("completions") {
		return nil
	}
	for _, p := range t.Inventory.PromptEntries {
		for _, a := range p.Arguments {
			out = append(out, suite.PromptCompletion(p.Name, a.Name))
		}
	}
	return out
}

// eachMethodCase sends one request of each kind with metadata for which the server must refuse it.
// Rules judge the responses.
func eachMethodCase() suite.Case {
	return suite.Case{
		ID:    "stateless.each-method",
		Title: "Sends one request of each kind without clientCapabilities, and of an unknown version",
		Provokes: []string{
			"stateless.meta-client-capabilities-required", "stateless.meta-missing-http-400",
			"versioning.unsupported-version-error", "versioning.unsupported-version-http-400",
		},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			for _, r := range servedRequests(ctx, t, c) {
				sendWithMeta(ctx, c, r, suite.WithoutMeta(c, spec.MetaClientCapabilities))
				sendWithMeta(ctx, c, r, suite.WithMeta(c, spec.MetaVersion, ancient))
			}
		},
	}
}
