package faults

import (
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalOpening is how a session may begin.
func legalOpening() []Fault {
	return []Fault{
		legal("counter-offer-as-error", "an unknown version gets the error that the lifecycle page shows", Handle(spec.MethodInitialize,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if speaks(asked(c)) {
					return next(c)
				}
				return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "Unsupported protocol version", Data: map[string]any{
					"supported": spec.HandshakeRevisions(), "requested": asked(c),
				}}
			})),
		legal("only-oldest", "only 2024-11-05 is spoken", speaking(spec.V20241105)).in(spec.V20241105),
		legal("only-2025-06-18", "only 2025-06-18 is spoken", speaking(spec.V20250618)).in(spec.V20250618),
		legal("only-newest", "only 2025-11-25 is spoken", speaking(spec.V20251125)).in(spec.V20251125),
		legal("no-instructions", "initialize gets no instructions", EditResult(spec.MethodInitialize, func(r map[string]any) { delete(r, "instructions") })),
		legal("long-instructions", "instructions are 200,000 characters long", EditResult(spec.MethodInitialize, func(r map[string]any) {
			r["instructions"] = strings.Repeat("Be kind. ", 22_000)
		})),
		legal("more-capabilities", "capabilities are declared that no revision knows", EditResult(spec.MethodInitialize, func(r map[string]any) {
			caps := r["capabilities"].(map[string]any)
			caps["experimental"] = map[string]any{"com.example/feature": map[string]any{"on": true}}
			caps["com.example/other"] = map[string]any{}
		})),
		legal("tools-only", "only tools are offered, and their list never changes", together(offeringOnly("tools"), withoutTool("content"))),
		legal("no-capabilities", "nothing is offered", offeringOnly()),
		legal("reinitialize-served", "a second initialize is served", Handle(spec.MethodInitialize, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			c.Revision = ""
			return next(c)
		})),
		legal("serves-before-initialize", "requests before initialize are served", Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if c.Revision == "" && c.Method != spec.MethodInitialize {
				c.Revision = spec.V20251125
			}
			return next(c)
		})),
		legal("silent-before-initialize", "requests before initialize are not answered, except ping", unanswered("", func(c *refserver.Call) bool {
			return c.Revision == "" && c.Method != spec.MethodInitialize && c.Method != spec.MethodPing
		})),
		legal("list-changed-first", "tools/list_changed comes before the answer to initialize", Handle(spec.MethodInitialize,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := next(c)
				if err == nil {
					c.Notify(spec.MethodToolsChanged, nil)
				}
				return result, err
			})),
		legal("slow-start", "the start takes 300 ms", refserver.Seams{Start: func(p *refserver.Process) { pause(p.Session.Context(), 300*time.Millisecond) }}),
	}
}

// speaking has the server know one revision only.
func speaking(r spec.Revision) refserver.Seams {
	return Handle(spec.MethodInitialize, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		_, p := wire.Members(c.Params)
		if _, ok := wire.Text(p["protocolVersion"]); ok {
			p["protocolVersion"] = wire.Quote(string(r))
			c.Params = wire.JSON(p)
		}
		return next(c)
	})
}

// offeringOnly withholds all capabilities but some, and serves nothing of the rest.
func offeringOnly(capabilities ...string) refserver.Seams {
	offered := map[string]bool{"initialize": true, "ping": true}
	for _, name := range capabilities {
		offered[name] = true
	}
	return together(EditResult(spec.MethodInitialize, func(r map[string]any) {
		caps := map[string]any{}
		for _, name := range capabilities {
			caps[name] = map[string]any{}
		}
		r["capabilities"] = caps
	}), Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		family, _, _ := strings.Cut(c.Method, "/")
		if c.Revision != "" && !offered[family] {
			return nil, &refserver.Error{Code: spec.CodeMethodNotFound, Message: "Method not found"}
		}
		if !offered["tasks"] && c.Method == spec.MethodToolsCall {
			dropTask(c)
		}
		return next(c)
	}), mute(func(o *refserver.Out) bool {
		return o.Kind == refserver.OutNotification && (strings.HasSuffix(o.Method, "/list_changed") || o.Method == spec.MethodMessage)
	}))
}

// withoutTool leaves a tool out of the list.
func withoutTool(name string) refserver.Seams {
	return EditResult(spec.MethodToolsList, func(r map[string]any) {
		r["tools"] = slices.DeleteFunc(r["tools"].([]any), func(t any) bool { return t.(map[string]any)["name"] == name })
	})
}
