package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// structuredContentFaults returns the faults in structured content that show only in a comparison
// with the output schema or with the text.
func structuredContentFaults() []*Fault {
	structured := func(id, title string, e edit) *Fault {
		return newFault("tools.structured."+id, title, editResultOfAdd(e))
	}
	return []*Fault{
		structured("present/missing", "a tool with an output schema returns text only", omitMembers("structuredContent")),
		structured("present/snake-case", "a tool with an output schema returns structured_content", renameMember("structuredContent", "structured_content")),
		structured("conforms/text", "structured content has a string where the output schema wants a number", setValue("structuredContent", map[string]any{"sum": "3"})),
		structured("conforms/empty", "structured content lacks what the output schema requires", setValue("structuredContent", map[string]any{})),
		structured("conforms/wrapped", "structured content is wrapped in a member result", func(r map[string]any) {
			r["structuredContent"] = map[string]any{"result": r["structuredContent"]}
		}),
		structured("text-copy/prose", "the text block of structured content is a sentence", setValue("content", rawJSON(`[{"type":"text","text":"The sum is known."}]`))),
		structured("text-copy/empty", "structured content comes without a text block", setValue("content", []any{})),
		structured("text-copy/other", "the text block of structured content is other JSON", setValue("content", rawJSON(`[{"type":"text","text":"{\"sum\":-1}"}]`))),
	}
}

// toolShapeFaults returns the faults in the shape of tools/list.
func toolShapeFaults() []*Fault {
	const list, tools = "tools.list.result-schema/", spec.MethodToolsList
	input := func(e edit) *refserver.Seams { return editListItems(tools, editMember("inputSchema", e)) }
	output := func(e edit) *refserver.Seams {
		return editListItems(tools, ifHas("outputSchema", editMember("outputSchema", e)))
	}
	property := func(schema string) edit { return setValue("properties", map[string]any{"text": rawJSON(schema)}) }
	return []*Fault{
		newFault(list+"no-tools", "the list of tools lacks the member tools", EditResult(tools, omitMembers("tools"))),
		newFault(list+"tools-null", "the list of tools is null", EditResult(tools, setValue("tools", nil))),
		newFault(list+"tools-object", "the list of tools is an object keyed by name", EditResult(tools, setValue("tools", rawJSON(`{"echo":{"inputSchema":{"type":"object"}}}`)))),
		newFault(list+"tools-names", "the list of tools is an array of names", EditResult(tools, setValue("tools", []any{"echo", "add"}))),
		newFault(list+"no-name", "tools have no name", editListItems(tools, omitMembers("name"))),
		newFault(list+"name-number", "the names of tools are numbers", editListItems(tools, setValue("name", 7))),
		newFault(list+"no-schema", "tools have no inputSchema", editListItems(tools, omitMembers("inputSchema"))).inRevisions(olderRevisions()...),
		newFault(list+"parameters", "tools have parameters instead of an inputSchema", editListItems(tools, renameMember("inputSchema", "parameters"))).inRevisions(olderRevisions()...),
		newFault(list+"snake-case", "tools have an input_schema instead of an inputSchema", editListItems(tools, renameMember("inputSchema", "input_schema"))).inRevisions(olderRevisions()...),
		newFault(list+"description-null", "the descriptions of tools are null", editListItems(tools, setValue("description", nil))),
		newFault(list+"description-array", "the descriptions of tools are arrays of lines", editListItems(tools, setValue("description", []any{"One.", "Two."}))),
		newFault(list+"title-null", "the titles of tools are null", editListItems(tools, setValue("title", nil))).inRevisions(sinceRevision(spec.V20250618)...),
		newFault(list+"hint-text", "openWorldHint of tools is a string", editListItems(tools, editMember("annotations", setValue("openWorldHint", "false")))).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(list+"hint-null", "destructiveHint of tools is null", editListItems(tools, editMember("annotations", setValue("destructiveHint", nil)))).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(list+"annotations-array", "the annotations of a tool are an array", editTool("fail", setValue("annotations", []any{}))).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(list+"properties-array", "the properties of an inputSchema are an array", input(setValue("properties", []any{map[string]any{"name": "text"}}))),
		newFault(list+"property-true", "a property of an inputSchema is true, which only the newest revision permits", input(property("true"))),
		newFault(list+"property-word", "a property of an inputSchema is the name of its type", input(property(`"string"`))),
		newFault(list+"required-true", "the member required of an inputSchema is true", input(setValue("required", true))),
		newFault(list+"required-null", "the member required of an inputSchema is null", input(setValue("required", nil))),
		newFault(list+"meta-array", "the _meta of tools is an array", editListItems(tools, setValue("_meta", []any{}))).inRevisions(sinceRevision(spec.V20250618)...),
		newFault(list+"result-meta-null", "the _meta of the list of tools is null", EditResult(tools, setValue("_meta", nil))),
		newFault(list+"icons-object", "the icons of tools are one object", editListItems(tools, setValue("icons", rawJSON(`{"src":"https://example.com/i.png"}`)))).inRevisions(spec.V20251125),
		newFault(list+"icon-url", "icons of tools have a url instead of a src", editIcons(tools, renameMember("src", "url"))).inRevisions(spec.V20251125),
		newFault(list+"icon-sizes-text", "the sizes of icons of tools are a string", editIcons(tools, setValue("sizes", "48x48"))).inRevisions(spec.V20251125),
		newFault(list+"output-required-text", "the member required of an outputSchema is a string", output(setValue("required", "sum"))).inRevisions(sinceRevision(spec.V20250618)...),

		newFault("tools.input-schema.object-not-null/null", "the inputSchema of tools is null", editListItems(tools, setValue("inputSchema", nil))),
		newFault("tools.input-schema.object-not-null/missing", "tools have no inputSchema", editListItems(tools, omitMembers("inputSchema"))),
		newFault("tools.input-schema.object-not-null/true", "the inputSchema of tools is true", editListItems(tools, setValue("inputSchema", true))),
		newFault("tools.input-schema.object-not-null/empty", "the inputSchema of tools is empty", editListItems(tools, setValue("inputSchema", map[string]any{}))),
		newFault("tools.input-schema.object-not-null/no-type", "the inputSchema of tools has no type", input(omitMembers("type"))),
		newFault("tools.input-schema.object-not-null/types", "the type of inputSchema is a list of types", input(setValue("type", []any{"object"}))),
		newFault("tools.input-schema.object-not-null/string", "the inputSchema of tools has the type string", input(setValue("type", "string"))),
		newFault("tools.input-schema.is-json-schema-2024-11-05/unknown-type", "an inputSchema has a type that does not exist", input(property(`{"type":"text"}`))),
		newFault("tools.input-schema.is-json-schema-2024-11-05/required-flag", "an inputSchema marks a property as required with a boolean", input(property(`{"type":"string","required":true}`))),
		newFault("tools.input-schema.is-json-schema-2024-11-05/enum-object", "an inputSchema has an enum that is an object", input(property(`{"enum":{"RED":1}}`))),
		newFault("tools.input-schema.is-json-schema-2024-11-05/boolean-bound", "an inputSchema has a boolean exclusiveMinimum, as in draft 4",
			input(property(`{"type":"number","minimum":0,"exclusiveMinimum":true}`))),
		newFault("tools.output-schema.root-object-2025-06-18/array", "an outputSchema has the type array", output(setValue("type", "array"))),
		newFault("tools.output-schema.root-object-2025-06-18/no-type", "an outputSchema has no type", output(omitMembers("type"))),
		newFault("tools.output-schema.root-object-2025-06-18/any-of", "an outputSchema has anyOf instead of a type", editListItems(tools, ifHas("outputSchema",
			setValue("outputSchema", rawJSON(`{"anyOf":[{"type":"object"},{"type":"null"}]}`))))),
		newFault("tools.output-schema.valid/unknown-type", "an outputSchema has a type that does not exist", output(setValue("properties", rawJSON(`{"sum":{"type":"double"}}`)))),
		newFault("tools.output-schema.valid/negative-length", "an outputSchema has a negative length", output(setValue("properties", rawJSON(`{"sum":{"type":"string","minLength":-1}}`)))),
	}
}

// callShapeFaults returns the faults in the shape of results of tools/call.
func callShapeFaults() []*Fault {
	const call, tool = "tools.call.result-schema/", spec.MethodToolsCall
	callResult := func(name, title string, e edit) *Fault {
		return newFault(call+name, title, EditResult(tool, e)).inRevisions(revisionsWithReadOnlyHint()...)
	}
	structured := func(id, title string, e edit) *Fault {
		return newFault("tools.structured."+id, title, editResultOfAdd(e))
	}
	return []*Fault{
		callResult("no-content", "results of tools have no content", omitMembers("content")),
		callResult("content-null", "the content of results of tools is null", setValue("content", nil)),
		callResult("content-text", "the content of results of tools is a string", setValue("content", "Done.")),
		callResult("content-block", "the content of results of tools is a single block", setValue("content", rawJSON(`{"type":"text","text":"Done."}`))),
		callResult("content-texts", "the content of results of tools is an array of strings", setValue("content", []any{"Done."})),
		callResult("tool-result", "results of tools have toolResult, as in 2024-10-07", replaceObject(`{"toolResult":{"sum":3}}`)),
		callResult("is-error-text", "isError of results of tools is a string", setValue("isError", "false")),
		callResult("is-error-null", "isError of results of tools is null", setValue("isError", nil)),
		callResult("meta-null", "the _meta of results of tools is null", setValue("_meta", nil)),
		newFault(call+"structured-only", "results with structured content have no content", EditResult(tool, ifHas("structuredContent", omitMembers("content")))).inRevisions(sinceRevision(spec.V20250618)...),
		newFault(call+"text-null", "text from tools is null", editToolBlocks("text", setValue("text", nil))).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(call+"text-object", "text from tools is an object", editToolBlocks("text", setValue("text", map[string]any{"sum": 3}))).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(call+"text-number", "text from tools is a number", editToolBlocks("text", setValue("text", 3))).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(call+"image-without-type", "images from tools have no MIME type", editToolBlocks("image", omitMembers("mimeType"))).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(call+"image-without-data", "images from tools have a URL instead of data", editToolBlocks("image", renameMember("data", "url"))).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(call+"resource-without-uri", "resources embedded by tools have no URI", editToolBlocks("resource", editMember("resource", omitMembers("uri")))).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(call+"resource-neither", "resources embedded by tools have neither text nor a blob", editToolBlocks("resource", editMember("resource", omitMembers("text", "blob")))).inRevisions(revisionsWithReadOnlyHint()...),
		newFault(call+"link-without-name", "links from tools have no name", editToolBlocks("resource_link", omitMembers("name"))).inRevisions(sinceRevision(spec.V20250618)...),

		structured("object-only-2025-06-18/array", "structured content is an array", setValue("structuredContent", []any{3})),
		structured("object-only-2025-06-18/text", "structured content is JSON in a string", setValue("structuredContent", `{"sum":3}`)),
		structured("object-only-2025-06-18/null", "structured content is null", setValue("structuredContent", nil)),
	}
}
