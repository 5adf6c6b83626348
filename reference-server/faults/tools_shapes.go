package faults

import (
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

// toolShapeFaults are the faults in how tools/list describes tools.
func toolShapeFaults() []Fault {
	const list, tools = "tools.list.result-schema/", spec.MethodToolsList
	input := func(e edit) refserver.Seams { return listed(tools, inside("inputSchema", e)) }
	output := func(e edit) refserver.Seams { return listed(tools, having("outputSchema", inside("outputSchema", e))) }
	property := func(schema string) edit { return put("properties", map[string]any{"text": raw(schema)}) }
	return []Fault{
		breaks(list+"no-tools", "the list of tools lacks the member tools", EditResult(tools, leaveOut("tools"))),
		breaks(list+"tools-null", "the list of tools is null", EditResult(tools, put("tools", nil))),
		breaks(list+"tools-object", "the list of tools is an object by name", EditResult(tools, put("tools", raw(`{"echo":{"inputSchema":{"type":"object"}}}`)))),
		breaks(list+"tools-names", "the list of tools is one of names", EditResult(tools, put("tools", []any{"echo", "add"}))),
		breaks(list+"no-name", "tools have no name", listed(tools, leaveOut("name"))),
		breaks(list+"name-number", "the names of tools are numbers", listed(tools, put("name", 7))),
		breaks(list+"no-schema", "tools have no inputSchema", listed(tools, leaveOut("inputSchema"))).in(beforeNewest()...),
		breaks(list+"parameters", "tools have parameters instead of an inputSchema", listed(tools, rename("inputSchema", "parameters"))).in(beforeNewest()...),
		breaks(list+"snake-case", "tools have an input_schema instead of an inputSchema", listed(tools, rename("inputSchema", "input_schema"))).in(beforeNewest()...),
		breaks(list+"description-null", "the descriptions of tools are null", listed(tools, put("description", nil))),
		breaks(list+"description-array", "the descriptions of tools are arrays of lines", listed(tools, put("description", []any{"One.", "Two."}))),
		breaks(list+"title-null", "the titles of tools are null", listed(tools, put("title", nil))).in(from(spec.V20250618)...),
		breaks(list+"hint-text", "the hint that a tool reads only is a string", listed(tools, inside("annotations", put("openWorldHint", "false")))).in(callable()...),
		breaks(list+"hint-null", "the hint that a tool destroys is null", listed(tools, inside("annotations", put("destructiveHint", nil)))).in(callable()...),
		breaks(list+"annotations-array", "the annotations of a tool are an array", editTool("fail", put("annotations", []any{}))).in(callable()...),
		breaks(list+"properties-array", "the properties of an inputSchema are an array", input(put("properties", []any{map[string]any{"name": "text"}}))),
		breaks(list+"property-true", "a property of an inputSchema is true, which only the newest revision permits", input(property("true"))),
		breaks(list+"property-word", "a property of an inputSchema is the name of its type", input(property(`"string"`))),
		breaks(list+"required-true", "the member required of an inputSchema is true", input(put("required", true))),
		breaks(list+"required-null", "the member required of an inputSchema is null", input(put("required", nil))),
		breaks(list+"meta-array", "the _meta of tools is an array", listed(tools, put("_meta", []any{}))).in(from(spec.V20250618)...),
		breaks(list+"result-meta-null", "the _meta of the list of tools is null", EditResult(tools, put("_meta", nil))),
		breaks(list+"icons-object", "the icons of tools are one object", listed(tools, put("icons", raw(`{"src":"https://example.com/i.png"}`)))).in(spec.V20251125),
		breaks(list+"icon-url", "icons of tools have a url instead of a src", iconed(tools, rename("src", "url"))).in(spec.V20251125),
		breaks(list+"icon-sizes-text", "the sizes of icons of tools are a string", iconed(tools, put("sizes", "48x48"))).in(spec.V20251125),
		breaks(list+"output-required-text", "the member required of an outputSchema is a string", output(put("required", "sum"))).in(from(spec.V20250618)...),

		breaks("tools.input-schema.object-not-null/null", "the inputSchema of tools is null", listed(tools, put("inputSchema", nil))),
		breaks("tools.input-schema.object-not-null/missing", "tools have no inputSchema", listed(tools, leaveOut("inputSchema"))),
		breaks("tools.input-schema.object-not-null/true", "the inputSchema of tools is true", listed(tools, put("inputSchema", true))),
		breaks("tools.input-schema.object-not-null/empty", "the inputSchema of tools is empty", listed(tools, put("inputSchema", map[string]any{}))),
		breaks("tools.input-schema.object-not-null/no-type", "the inputSchema of tools has no type", input(leaveOut("type"))),
		breaks("tools.input-schema.object-not-null/types", "the type of inputSchema is a list of types", input(put("type", []any{"object"}))),
		breaks("tools.input-schema.object-not-null/string", "the inputSchema of tools is that of a string", input(put("type", "string"))),
		breaks("tools.input-schema.is-json-schema-2024-11-05/unknown-type", "an inputSchema has a type that does not exist", input(property(`{"type":"text"}`))),
		breaks("tools.input-schema.is-json-schema-2024-11-05/required-flag", "an inputSchema marks a property as required by a boolean", input(property(`{"type":"string","required":true}`))),
		breaks("tools.input-schema.is-json-schema-2024-11-05/enum-object", "an inputSchema has an enum that is an object", input(property(`{"enum":{"RED":1}}`))),
		breaks("tools.input-schema.is-json-schema-2024-11-05/boolean-bound", "an inputSchema has the exclusiveMinimum of draft 4",
			input(property(`{"type":"number","minimum":0,"exclusiveMinimum":true}`))),
		breaks("tools.output-schema.root-object-2025-06-18/array", "an outputSchema is that of an array", output(put("type", "array"))),
		breaks("tools.output-schema.root-object-2025-06-18/no-type", "an outputSchema has no type", output(leaveOut("type"))),
		breaks("tools.output-schema.root-object-2025-06-18/any-of", "an outputSchema is one of two", listed(tools, having("outputSchema",
			put("outputSchema", raw(`{"anyOf":[{"type":"object"},{"type":"null"}]}`))))),
		breaks("tools.output-schema.valid/unknown-type", "an outputSchema has a type that does not exist", output(put("properties", raw(`{"sum":{"type":"double"}}`)))),
		breaks("tools.output-schema.valid/negative-length", "an outputSchema has a length below zero", output(put("properties", raw(`{"sum":{"type":"string","minLength":-1}}`)))),
	}
}

// callShapeFaults are the faults in the results of tools.
func callShapeFaults() []Fault {
	const call, tool = "tools.call.result-schema/", spec.MethodToolsCall
	callResult := func(name, title string, e edit) Fault {
		return breaks(call+name, title, EditResult(tool, e)).in(callable()...)
	}
	structured := func(id, title string, e edit) Fault { return breaks("tools.structured."+id, title, summed(e)) }
	return []Fault{
		callResult("no-content", "results of tools have no content", leaveOut("content")),
		callResult("content-null", "the content of results of tools is null", put("content", nil)),
		callResult("content-text", "the content of results of tools is a string", put("content", "Done.")),
		callResult("content-block", "the content of results of tools is one block", put("content", raw(`{"type":"text","text":"Done."}`))),
		callResult("content-texts", "the content of results of tools is strings", put("content", []any{"Done."})),
		callResult("tool-result", "results of tools are as in 2024-10-07", becomes(`{"toolResult":{"sum":3}}`)),
		callResult("is-error-text", "results of tools say isError as a string", put("isError", "false")),
		callResult("is-error-null", "results of tools say isError as null", put("isError", nil)),
		callResult("meta-null", "the _meta of results of tools is null", put("_meta", nil)),
		breaks(call+"structured-only", "results with structured content have no content", EditResult(tool, having("structuredContent", leaveOut("content")))).in(from(spec.V20250618)...),
		breaks(call+"text-null", "text from tools is null", inTools("text", put("text", nil))).in(callable()...),
		breaks(call+"text-object", "text from tools is an object", inTools("text", put("text", map[string]any{"sum": 3}))).in(callable()...),
		breaks(call+"text-number", "text from tools is a number", inTools("text", put("text", 3))).in(callable()...),
		breaks(call+"image-without-type", "images from tools have no MIME type", inTools("image", leaveOut("mimeType"))).in(callable()...),
		breaks(call+"image-without-data", "images from tools have a URL instead of data", inTools("image", rename("data", "url"))).in(callable()...),
		breaks(call+"resource-without-uri", "resources embedded by tools have no URI", inTools("resource", inside("resource", leaveOut("uri")))).in(callable()...),
		breaks(call+"resource-neither", "resources embedded by tools have neither text nor a blob", inTools("resource", inside("resource", leaveOut("text", "blob")))).in(callable()...),
		breaks(call+"link-without-name", "links from tools have no name", inTools("resource_link", leaveOut("name"))).in(from(spec.V20250618)...),

		structured("object-only-2025-06-18/array", "structured content is an array", put("structuredContent", []any{3})),
		structured("object-only-2025-06-18/text", "structured content is JSON in a string", put("structuredContent", `{"sum":3}`)),
		structured("object-only-2025-06-18/null", "structured content is null", put("structuredContent", nil)),
	}
}
