package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// initializeShapeFaults returns the faults in the result of initialize that only validation
// against the schema finds.
func initializeShapeFaults() []*Fault {
	const opening = "lifecycle.initialize-result-schema/"
	answer := func(e edit) *refserver.Seams { return EditResult(spec.MethodInitialize, e) }
	server := func(e edit) *refserver.Seams { return answer(editMember("serverInfo", e)) }
	able := func(name string, value any) *refserver.Seams {
		return answer(editMember("capabilities", setValue(name, value)))
	}
	return []*Fault{
		newFault(opening+"title-null", "the server's title is null", server(setValue("title", nil))).inRevisions(sinceRevision(spec.V20250618)...),
		newFault(opening+"title-object", "the server's title is an object of translations", server(setValue("title", map[string]any{"en": "Server"}))).inRevisions(sinceRevision(spec.V20250618)...),
		newFault(opening+"icons-object", "the server's icons are a single object", server(setValue("icons", rawJSON(`{"src":"https://example.com/i.png"}`)))).inRevisions(spec.V20251125),
		newFault(opening+"icon-no-source", "the server's icon has no src", editIcons(spec.MethodInitialize, omitMembers("src"))).inRevisions(spec.V20251125),
		newFault(opening+"website-null", "the server's websiteUrl is null", server(setValue("websiteUrl", nil))).inRevisions(spec.V20251125),
		newFault(opening+"description-array", "the server's description is an array of lines", server(setValue("description", []any{"One.", "Two."}))).inRevisions(spec.V20251125),
		newFault(opening+"experimental-array", "the experimental capabilities are an array", able("experimental", []any{"x"})),
		newFault(opening+"experimental-flag", "an experimental capability is true", able("experimental", map[string]any{"com.example/x": true})),
		newFault(opening+"completions-true", "the capability completions is true", able("completions", true)).inRevisions(sinceRevision(spec.V20250326)...),
		newFault(opening+"prompts-null", "the capability prompts is null", able("prompts", nil)),
		newFault(opening+"flag-null", "the flag listChanged is null", able("resources", map[string]any{"subscribe": true, "listChanged": nil})),
		newFault(opening+"meta-array", "the _meta of the result of initialize is an array", answer(setValue("_meta", []any{}))),
	}
}
