package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalPractice are the legal variations that servers in use, and texts that
// explain the protocol, are known for.
func legalPractice() []Fault {
	return []Fault{
		legal("values-not-by-prefix", "what is completed does not begin with what was typed, and says more than it", EditResult(spec.MethodComplete, func(r map[string]any) {
			c := r["completion"].(map[string]any)
			values, _ := c["values"].([]any)
			for i := range values {
				values[i] = "One of: " + values[i].(string) + " (and more)"
			}
		})),
		legal("empty-capabilities", "every capability is declared as an empty object, and nothing but answers is sent", together(
			EditResult(spec.MethodInitialize, func(r map[string]any) {
				declared := r["capabilities"].(map[string]any)
				for name := range declared {
					if name != "tasks" {
						declared[name] = map[string]any{}
					}
				}
			}),
			mute(notifications(spec.MethodToolsChanged)), mute(notifications(spec.MethodPromptsChanged)), mute(notifications(spec.MethodResourcesChanged)),
			mute(notifications(spec.MethodResourcesUpdated)),
			refuse(spec.MethodResourcesSubscribe, session, spec.CodeMethodNotFound, "Method not found"),
			refuse(spec.MethodResourcesUnsubscribe, session, spec.CodeMethodNotFound, "Method not found"))),
		legal("sums-below-zero-fail", "a sum below 0 is a failure of the tool, without structured content", summed(func(r map[string]any) {
			if sumOf(r) < 0 {
				delete(r, "structuredContent")
				r["isError"], r["content"] = true, []any{textBlock("The sum is below zero.")}
			}
		})).in(from(spec.V20250618)...),
		legal("long-texts-refused", "texts of more than 10,000 bytes are refused", Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if len(c.Params) > 10_000 {
				return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "too long"}
			}
			return next(c)
		})).in(callable()...),
		legal("failures-as-JSON", "tools that fail tell the error as JSON in a text", EditResult("", func(r map[string]any) {
			if _, tool := r["content"]; !tool || r["isError"] != true {
				return
			}
			for _, block := range items(r, "content") {
				if text, isText := block["text"].(string); isText {
					block["text"] = string(wire.JSON(map[string]any{"error": text}))
				}
			}
		})),
		legal("ends-by-signal-code", "the process tells by its code that a signal ended it", refserver.Seams{
			End: func(_ *refserver.Process, why refserver.EndReason) (int, bool) {
				return map[refserver.EndReason]int{refserver.Terminated: 143, refserver.Interrupted: 130}[why], true
			},
		}),
	}
}
