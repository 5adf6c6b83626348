package faults

import (
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalInitialization returns the legal variations in how a session begins.
func legalInitialization() []*Fault {
	return []*Fault{
		newVariation("counter-offer-as-error", "an unknown version gets the error of the specification's example", WrapHandler(spec.MethodInitialize,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if isSupportedVersion(requestedVersion(c)) {
					return next(c)
				}
				return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "Unsupported protocol version", Data: map[string]any{
					"supported": spec.HandshakeRevisions(), "requested": requestedVersion(c),
				}}
			})),
		newVariation("only-oldest", "the server supports only 2024-11-05", supportOnly(spec.V20241105)).inRevisions(spec.V20241105),
		newVariation("only-2025-06-18", "the server supports only 2025-06-18", supportOnly(spec.V20250618)).inRevisions(spec.V20250618),
		newVariation("only-newest", "the server supports only 2025-11-25", supportOnly(spec.V20251125)).inRevisions(spec.V20251125),
		newVariation("no-instructions", "the result of initialize has no instructions", EditResult(spec.MethodInitialize, func(r map[string]any) { delete(r, "instructions") })),
		newVariation("long-instructions", "instructions are 198,000 characters long", EditResult(spec.MethodInitialize, func(r map[string]any) {
			r["instructions"] = strings.Repeat("Be kind. ", 22_000)
		})),
		newVariation("more-capabilities", "the server declares capabilities that no revision defines", EditResult(spec.MethodInitialize, func(r map[string]any) {
			caps := r["capabilities"].(map[string]any)
			caps["experimental"] = map[string]any{"com.example/feature": map[string]any{"on": true}}
			caps["com.example/other"] = map[string]any{}
		})),
		newVariation("tools-only", "the server offers only tools, and their list never changes", combineSeams(declareOnly("tools"), removeTool("content"))),
		newVariation("no-capabilities", "the server offers nothing", declareOnly()),
		newVariation("reinitialize-served", "a second initialize gets a result", WrapHandler(spec.MethodInitialize, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			c.Revision = ""
			return next(c)
		})),
		newVariation("serves-before-initialize", "requests before initialize get results", WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if c.Revision == "" && c.Method != spec.MethodInitialize {
				c.Revision = spec.V20251125
			}
			return next(c)
		})),
		newVariation("silent-before-initialize", "requests before initialize get no response, except ping", suppressResponse("", func(c *refserver.Call) bool {
			return c.Revision == "" && c.Method != spec.MethodInitialize && c.Method != spec.MethodPing
		})),
		newVariation("list-changed-first", "the server sends tools/list_changed before the response to initialize", WrapHandler(spec.MethodInitialize,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := next(c)
				if err == nil {
					c.Notify(spec.MethodToolsChanged, nil)
				}
				return result, err
			})),
		newVariation("slow-start", "the server takes 300 ms to start", &refserver.Seams{Start: func(p *refserver.Process) { sleep(p.Session.Context(), 300*time.Millisecond) }}),
	}
}

// supportOnly makes the server support a single revision.
func supportOnly(r spec.Revision) *refserver.Seams {
	return WrapHandler(spec.MethodInitialize, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		_, p := wire.Members(c.Params)
		if _, ok := wire.Text(p["protocolVersion"]); ok {
			p["protocolVersion"] = wire.Quote(string(r))
			c.Params = wire.JSON(p)
		}
		return next(c)
	})
}

// declareOnly declares only the given capabilities, refuses the methods of all others, and drops
// list_changed and log messages. If tasks is not among the capabilities, the server ignores the
// member task of calls.
func declareOnly(capabilities ...string) *refserver.Seams {
	offered := map[string]bool{"initialize": true, "ping": true}
	for _, name := range capabilities {
		offered[name] = true
	}
	return combineSeams(EditResult(spec.MethodInitialize, func(r map[string]any) {
		caps := map[string]any{}
		for _, name := range capabilities {
			caps[name] = map[string]any{}
		}
		r["capabilities"] = caps
	}), WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		family, _, _ := strings.Cut(c.Method, "/")
		if c.Revision != "" && !offered[family] {
			return nil, &refserver.Error{Code: spec.CodeMethodNotFound, Message: "Method not found"}
		}
		if !offered["tasks"] && c.Method == spec.MethodToolsCall {
			dropTask(c)
		}
		return next(c)
	}), dropMessages(func(o *refserver.Out) bool {
		return o.Kind == refserver.OutNotification && (strings.HasSuffix(o.Method, "/list_changed") || o.Method == spec.MethodMessage)
	}))
}

// removeTool removes a tool from tools/list.
func removeTool(name string) *refserver.Seams {
	return EditResult(spec.MethodToolsList, func(r map[string]any) {
		r["tools"] = slices.DeleteFunc(r["tools"].([]any), func(t any) bool { return t.(map[string]any)["name"] == name })
	})
}
