package stateless

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// canonicalForm returns a value in its canonical form; "" if it has none.
func canonicalForm(v jsontext.Value) string {
	v = slices.Clone(v)
	if len(v) == 0 || v.Canonicalize() != nil {
		return ""
	}
	return string(v)
}

// undeclaredCase calls tools that require input, first without client capabilities, then with all
// of them, and again without. Rules judge the responses. The server is fresh, so that the first
// calls show what it does if it knows no capability from an earlier request.
func undeclaredCase() suite.Case {
	return suite.Case{
		ID:    "stateless.undeclared",
		Title: "Calls tools that ask the client, without its capabilities, with all of them, and without again",
		Provokes: []string{
			"stateless.missing-capability-error", "stateless.missing-capability-data", "stateless.missing-capability-http-400",
			"stateless.no-undeclared-capability", "stateless.server-requests-via-mrtr",
		},
		Needs:  []string{"tools"},
		Reuses: suite.ReuseNone,
		Run: func(ctx context.Context, t *suite.T) {
			roles := []inventory.Role{inventory.AsksElicitation, inventory.AsksSampling, inventory.AsksRoots}
			t.RequireTool(roles...)
			none := map[string]any{}
			c := t.StartFresh(ctx, client.Options{Capabilities: none})
			call := func(capabilities map[string]any) {
				for _, role := range roles {
					for _, k := range firstOnly(t.Inventory.KnownCalls(role)) {
						params := k.Params()
						params["_meta"] = map[string]any{spec.MetaClientCapabilities: capabilities}
						c.Do(ctx, spec.MethodToolsCall, params, client.Within(callTime), client.OneRound)
					}
				}
			}
			call(none)
			call(client.AllCapabilities(t.Revision))
			call(none)
		},
	}
}

// removedCase sends requests of handshake revisions with the metadata of the stateless era. Rules
// judge the responses.
func removedCase() suite.Case {
	return suite.Case{
		ID:    "stateless.removed-methods",
		Title: "Sends ping, logging/setLevel, resources/subscribe and other requests that the revision has removed",
		Provokes: []string{
			"stateless.removed.logging-setlevel", "stateless.removed.resources-subscribe", "stateless.removed.resources-unsubscribe",
			"ping.removed", "tasks.removed", "streamable-http.method-not-found-404",
		},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			uri := map[string]any{"uri": "file:///mcp-conform/none"}
			if len(t.Inventory.Resources) > 0 {
				uri["uri"] = t.Inventory.Resources[0]
			}
			for _, r := range []suite.Request{
				{Method: spec.MethodPing},
				{Method: spec.MethodSetLevel, Params: map[string]any{"level": "error"}},
				{Method: spec.MethodResourcesSubscribe, Params: uri},
				{Method: spec.MethodResourcesUnsubscribe, Params: uri},
				{Method: spec.MethodTasksList},
				{Method: spec.MethodTasksResult, Params: map[string]any{"taskId": "mcp-conform-none"}},
			} {
				c.Do(ctx, r.Method, r.Params)
			}
		},
	}
}

// patternsCase opens a subscription to no notifications, which any server can serve. Rules judge
// the response.
func patternsCase() suite.Case {
	return suite.Case{
		ID:                 "stateless.patterns",
		Title:              "Sends subscriptions/listen for no notifications",
		Provokes:           []string{"stateless.message-patterns-supported"},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			if s, err := c.Subscribe(ctx, map[string]any{}); err == nil {
				if _, err := s.AwaitAcknowledgement(ctx); err == nil {
					_ = s.Cancel(ctx)
				}
			}
		},
	}
}
