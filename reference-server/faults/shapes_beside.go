package faults

import (
	"strconv"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// structuredFaults are the faults in structured content that a comparison shows.
func structuredFaults() []Fault {
	structured := func(id, title string, e edit) Fault { return breaks("tools.structured."+id, title, summed(e)) }
	return []Fault{
		structured("present/missing", "a tool with an output schema returns text only", leaveOut("structuredContent")),
		structured("present/snake-case", "a tool with an output schema returns structured_content", rename("structuredContent", "structured_content")),
		structured("conforms/text", "structured content has a string where the output schema wants a number", put("structuredContent", map[string]any{"sum": "3"})),
		structured("conforms/empty", "structured content lacks what the output schema requires", put("structuredContent", map[string]any{})),
		structured("conforms/wrapped", "structured content is wrapped in a result", func(r map[string]any) {
			r["structuredContent"] = map[string]any{"result": r["structuredContent"]}
		}),
		structured("text-copy/prose", "structured content comes with a sentence", put("content", raw(`[{"type":"text","text":"The sum is known."}]`))),
		structured("text-copy/empty", "structured content comes without any block", put("content", []any{})),
		structured("text-copy/other", "structured content comes with other JSON", put("content", raw(`[{"type":"text","text":"{\"sum\":-1}"}]`))),
	}
}

// completedFaults are the faults in the numbers of completions.
func completedFaults() []Fault {
	return []Fault{
		breaks("completion.total.not-below-values/zero", "the total of completions is 0 while there are values", completed(2, 0, false)),
		breaks("completion.total.not-below-values/left", "the total of completions is how many are left", completed(3, 1, true)),
		breaks("completion.has-more.consistent/denied", "there are more completions than are given, and hasMore is false", completed(2, 10, false)),
		breaks("completion.has-more.consistent/claimed", "all completions are given, and hasMore is true", completed(2, 2, true)),
	}
}

// completed makes every completion hold so many values, and say how many there are.
func completed(count, total int, hasMore bool) refserver.Seams {
	return EditResult(spec.MethodComplete, inside("completion", func(m map[string]any) {
		values := make([]any, count)
		for i := range values {
			values[i] = strconv.Itoa(i)
		}
		m["values"], m["total"], m["hasMore"] = values, total, hasMore
	}))
}

// unaskedFaults are the faults in what the types permit, and the pages do not.
func unaskedFaults() []Fault {
	return []Fault{
		breaks("content.prompt-embedded.mime-type-present/missing", "resources embedded in prompts name no MIME type", inPrompts("resource", inside("resource", leaveOut("mimeType")))),
		breaks("cancellation.request-id-present/missing", "a cancellation names no request", tells(spec.MethodCancelled, `{"reason":"x"}`)),
		breaks("cancellation.request-id-present/snake-case", "a cancellation names a request_id", tells(spec.MethodCancelled, `{"request_id":1}`)),
		breaks("logging.set-level.empty-result/echo", "logging/setLevel gets the level back", replaceResult(spec.MethodSetLevel, `{"level":"info"}`)),
		breaks("logging.set-level.empty-result/ok", "logging/setLevel gets an ok", replaceResult(spec.MethodSetLevel, `{"ok":true}`)),
		breaks("elicitation.required-error.lists-elicitations-2025-11-25/empty", "-32042 lists no elicitation", requiresVisit(raw(`{"elicitations":[]}`))),
	}
}
