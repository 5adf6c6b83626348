package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// openingShapeFaults are the faults in the answer to initialize, beside those
// that need no schema to be seen.
func openingShapeFaults() []Fault {
	const opening = "lifecycle.initialize-result-schema/"
	answer := func(e edit) refserver.Seams { return EditResult(spec.MethodInitialize, e) }
	server := func(e edit) refserver.Seams { return answer(inside("serverInfo", e)) }
	able := func(name string, value any) refserver.Seams { return answer(inside("capabilities", put(name, value))) }
	return []Fault{
		breaks(opening+"title-null", "the server's title is null", server(put("title", nil))).in(from(spec.V20250618)...),
		breaks(opening+"title-object", "the server's title is an object by language", server(put("title", map[string]any{"en": "Server"}))).in(from(spec.V20250618)...),
		breaks(opening+"icons-object", "the server's icons are one object", server(put("icons", raw(`{"src":"https://example.com/i.png"}`)))).in(spec.V20251125),
		breaks(opening+"icon-no-source", "the server's icon has no source", iconed(spec.MethodInitialize, leaveOut("src"))).in(spec.V20251125),
		breaks(opening+"website-null", "the server's website is null", server(put("websiteUrl", nil))).in(spec.V20251125),
		breaks(opening+"description-array", "the server's description is an array of lines", server(put("description", []any{"One.", "Two."}))).in(spec.V20251125),
		breaks(opening+"experimental-array", "the experimental capabilities are an array", able("experimental", []any{"x"})),
		breaks(opening+"experimental-flag", "an experimental capability is true", able("experimental", map[string]any{"com.example/x": true})),
		breaks(opening+"completions-true", "the capability completions is true", able("completions", true)).in(from(spec.V20250326)...),
		breaks(opening+"prompts-null", "the capability prompts is null", able("prompts", nil)),
		breaks(opening+"flag-null", "the flag listChanged is null", able("resources", map[string]any{"subscribe": true, "listChanged": nil})),
		breaks(opening+"meta-array", "the _meta of the answer to initialize is an array", answer(put("_meta", []any{}))),
	}
}
