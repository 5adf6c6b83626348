package base

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// traceCase sends requests with a trace context, which the server may pass on. A rule judges the
// trace context in what the server sends back.
func traceCase() suite.Case {
	return suite.Case{
		ID:                 "messages.trace-context",
		Title:              "Sends requests with traceparent, tracestate and baggage",
		Provokes:           []string{"base.meta-trace-context"},
		SharesConversation: true,
		Run: func(ctx context.Context, t *suite.T) {
			c := t.Conversation(ctx)
			requests := []suite.Request{{Method: spec.MethodDiscover}}
			for _, method := range []string{spec.MethodToolsCall, spec.MethodResourcesRead, spec.MethodPromptsGet} {
				requests = append(requests, t.OrdinaryRequest(method))
			}
			for _, r := range requests {
				params := map[string]any{"_meta": map[string]any{
					"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
					"tracestate":  "mcpconform=t61rcWkgMzE",
					"baggage":     "userId=alice,serverNode=DF%2028",
				}}
				for name, value := range r.Params {
					params[name] = value
				}
				c.Do(ctx, r.Method, params, client.Within(0))
			}
		},
	}
}
