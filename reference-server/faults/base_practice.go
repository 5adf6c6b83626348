package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalPractice returns the legal variations that are known from real servers or from
// documents that explain the protocol.
func legalPractice() []*Fault {
	return []*Fault{
		newVariation("values-not-by-prefix", "completion values do not begin with what was typed, and contain more", EditResult(spec.MethodComplete, func(r map[string]any) {
			c := r["completion"].(map[string]any)
			values, _ := c["values"].([]any)
			for i := range values {
				values[i] = "One of: " + values[i].(string) + " (and more)"
			}
		})),
		newVariation("empty-capabilities", "every capability but tasks is an empty object, and the server announces no changes", combineSeams(
			EditResult(spec.MethodInitialize, func(r map[string]any) {
				declared := r["capabilities"].(map[string]any)
				for name := range declared {
					if name != "tasks" {
						declared[name] = map[string]any{}
					}
				}
			}),
			dropMessages(notifications(spec.MethodToolsChanged)), dropMessages(notifications(spec.MethodPromptsChanged)), dropMessages(notifications(spec.MethodResourcesChanged)),
			dropMessages(notifications(spec.MethodResourcesUpdated)),
			refuseCalls(spec.MethodResourcesSubscribe, isInitialized, spec.CodeMethodNotFound, "Method not found"),
			refuseCalls(spec.MethodResourcesUnsubscribe, isInitialized, spec.CodeMethodNotFound, "Method not found"))),
		newVariation("sums-below-zero-fail", "a sum below 0 gets isError and no structured content", editResultOfAdd(func(r map[string]any) {
			if sumOf(r) < 0 {
				delete(r, "structuredContent")
				r["isError"], r["content"] = true, []any{textBlock("The sum is below zero.")}
			}
		})).inRevisions(sinceRevision(spec.V20250618)...),
		newVariation("long-texts-refused", "tool calls with more than 10,000 bytes are refused", WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if len(c.Params) > 10_000 {
				return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "too long"}
			}
			return next(c)
		})).inRevisions(revisionsWithReadOnlyHint()...),
		newVariation("failures-as-JSON", "failed tools return the error as JSON in a text block", EditResult("", func(r map[string]any) {
			if _, tool := r["content"]; !tool || r["isError"] != true {
				return
			}
			for _, block := range objectsIn(r, "content") {
				if text, isText := block["text"].(string); isText {
					block["text"] = string(wire.JSON(map[string]any{"error": text}))
				}
			}
		})),
		newVariation("ends-by-signal-code", "the process exits with the code for a signal", &refserver.Seams{
			End: func(_ *refserver.Process, why refserver.EndReason) (int, bool) {
				return map[refserver.EndReason]int{refserver.Terminated: 143, refserver.Interrupted: 130}[why], true
			},
		}),
	}
}
