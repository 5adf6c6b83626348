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

// undeclaredCase calls tools that require input, first with all client capabilities, then with
// none. Rules judge the responses.
func undeclaredCase() suite.Case {
	return suite.Case{
		ID:    "stateless.undeclared",
		Title: "Calls tools that ask the client, first with its capabilities declared, then without any",
		Provokes: []string{
			"stateless.missing-capability-error", "stateless.missing-capability-data", "stateless.missing-capability-http-400",
			"stateless.no-undeclared-capability", "stateless.server-requests-via-mrtr",
		},
		Needs:              []string{"tools"},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			roles := []inventory.Role{inventory.AsksElicitation, inventory.AsksSampling, inventory.AsksRoots}
			t.RequireTool(roles...)
			c := t.Conversation(ctx)
			for _, role := range roles {
				for _, k := range firstOnly(t.Inventory.KnownCalls(role)) {
					if !c.Do(ctx, spec.MethodToolsCall, k.Params(), client.Within(callTime), client.OneRound).IsInputRequired() {
						continue
					}
					params := k.Params()
					params["_meta"] = map[string]any{spec.MetaClientCapabilities: map[string]any{}}
					c.Do(ctx, spec.MethodToolsCall, params, client.Within(callTime), client.OneRound)
				}
			}
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
