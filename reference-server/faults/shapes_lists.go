package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// toolShapeFaults are the faults in what tools/list says of tools.
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

// resourceShapeFaults are the faults in the lists of resources and templates.
func resourceShapeFaults() []Fault {
	const list, resources = "resources.list.result-schema/", spec.MethodResourcesList
	const families, templates = "resources.templates.result-schema/", spec.MethodResourcesTemplates
	template := func(text string) refserver.Seams { return listed(templates, put("uriTemplate", text)) }
	uri := func(text string) refserver.Seams { return listed(resources, put("uri", text)) }
	return []Fault{
		breaks(list+"no-resources", "the list of resources lacks the member resources", EditResult(resources, leaveOut("resources"))),
		breaks(list+"resources-null", "the list of resources is null", EditResult(resources, put("resources", nil))),
		breaks(list+"resources-object", "the list of resources is an object", EditResult(resources, put("resources", map[string]any{}))),
		breaks(list+"uris", "the list of resources is one of URIs", EditResult(resources, put("resources", []any{"demo://text/hello"}))),
		breaks(list+"no-name", "resources have no name", listed(resources, leaveOut("name"))),
		breaks(list+"title-only", "resources have a title instead of a name", listed(resources, rename("name", "title"))),
		breaks(list+"no-uri", "resources have no URI", listed(resources, leaveOut("uri"))),
		breaks(list+"uri-null", "the URI of resources is null", listed(resources, put("uri", nil))),
		breaks(list+"mime-null", "the MIME type of resources is null", listed(resources, put("mimeType", nil))),
		breaks(list+"size-text", "the size of resources is a string", listed(resources, put("size", "12 kB"))),
		breaks(list+"size-fraction", "the size of resources is a fraction", listed(resources, put("size", raw("1.5")))),
		breaks(list+"description-number", "the description of resources is a number", listed(resources, put("description", 1))),
		breaks(list+"annotations-null", "the annotations of resources are null", listed(resources, put("annotations", nil))),
		breaks(families+"no-templates", "the list of templates lacks the member resourceTemplates", EditResult(templates, leaveOut("resourceTemplates"))),
		breaks(families+"templates", "the list of templates is called templates", EditResult(templates, rename("resourceTemplates", "templates"))),
		breaks(families+"templates-null", "the list of templates is null", EditResult(templates, put("resourceTemplates", nil))),
		breaks(families+"uri", "templates have a uri instead of a uriTemplate", listed(templates, rename("uriTemplate", "uri"))),
		breaks(families+"template-null", "the uriTemplate of templates is null", listed(templates, put("uriTemplate", nil))),
		breaks(families+"no-name", "templates have no name", listed(templates, leaveOut("name"))),
		breaks(families+"icon-no-source", "icons of templates have no source", iconed(templates, leaveOut("src"))).in(spec.V20251125),
		breaks(families+"description-null", "the description of templates is null", listed(templates, put("description", nil))),

		breaks("resources.uri.valid/path", "resources have a path for a URI", uri("/etc/hosts")),
		breaks("resources.uri.valid/name", "resources have a name for a URI", uri("hello.txt")),
		breaks("resources.uri.valid/space", "resources have a space in their URI", uri("demo://text/my notes")),
		breaks("resources.uri.valid/windows", "resources have a path of Windows for a URI", uri(`C:\notes.txt`)),
		breaks("resources.uri.valid/percent", "resources have a lone percent sign in their URI", uri("demo://text/100%")),
		breaks("resources.uri.valid/template", "resources have a template for a URI", uri("demo://items/{number}")),
		breaks("resources.uri.valid/empty", "resources have an empty URI", uri("")),
		breaks("resources.uri.valid/contents", "what is read has a path for a URI", listed(spec.MethodResourcesRead, put("uri", "text/hello"))),
		breaks("resources.uri.valid/update", "an update names a path", tells(spec.MethodResourcesUpdated, `{"uri":"/etc/hosts"}`)),
		breaks("resources.uri.custom-scheme-rfc3986/underscore", "resources have a scheme with an underscore", uri("my_notes://hello")),
		breaks("resources.uri.custom-scheme-rfc3986/digit", "resources have a scheme that begins with a digit", uri("1notes://hello")),
		breaks("resources.templates.uri-template-valid/open", "templates have a brace that is not closed", template("demo://items/{number")),
		breaks("resources.templates.uri-template-valid/closed", "templates have a brace that is not opened", template("demo://items/number}")),
		breaks("resources.templates.uri-template-valid/empty", "templates have a variable without a name", template("demo://items/{}")),
		breaks("resources.templates.uri-template-valid/double", "templates have double braces", template("demo://items/{{number}}")),
		breaks("resources.templates.uri-template-valid/space", "templates have a space in a variable", template("demo://items/{item number}")),
		breaks("resources.templates.uri-template-valid/angle", "templates have angle brackets", template("demo://items/<number>")),
		breaks("resources.templates.uri-template-valid/hyphen", "templates have a hyphen in a variable", template("demo://items/{item-number}")),
		breaks("resources.templates.uri-template-valid/operator", "templates have an operator that is reserved", template("demo://items/{=number}")),
		breaks("resources.templates.uri-template-valid/expression", "templates have a regular expression for a variable", template(`demo://items/{number:\d+}`)),

		breaks("pagination.next-cursor.string/null", "the cursor after the last page is null", EditResult(spec.MethodToolsList, lastCursor(nil))),
		breaks("pagination.next-cursor.string/false", "the cursor after the last page is false", EditResult(spec.MethodPromptsList, lastCursor(false))),
		breaks("pagination.next-cursor.string/number", "the cursor after the last page is a number", EditResult(resources, lastCursor(0))),
		breaks("pagination.next-cursor.string/object", "the cursor after the last page is an object", EditResult(templates, lastCursor(map[string]any{}))),
	}
}

// lastCursor sets the cursor where there is none.
func lastCursor(v any) edit {
	return func(r map[string]any) {
		if _, ok := r["nextCursor"]; !ok {
			r["nextCursor"] = v
		}
	}
}

// promptShapeFaults are the faults in the list of prompts.
func promptShapeFaults() []Fault {
	const list, prompts = "prompts.list.result-schema/", spec.MethodPromptsList
	arguments := func(e edit) refserver.Seams { return listed(prompts, inEach("arguments", e)) }
	return []Fault{
		breaks(list+"no-prompts", "the list of prompts lacks the member prompts", EditResult(prompts, leaveOut("prompts"))),
		breaks(list+"prompts-null", "the list of prompts is null", EditResult(prompts, put("prompts", nil))),
		breaks(list+"prompts-object", "the list of prompts is an object by name", EditResult(prompts, put("prompts", raw(`{"hello":{}}`)))),
		breaks(list+"no-name", "prompts have no name", listed(prompts, leaveOut("name"))),
		breaks(list+"name-null", "the names of prompts are null", listed(prompts, put("name", nil))),
		breaks(list+"description-null", "the descriptions of prompts are null", listed(prompts, put("description", nil))),
		breaks(list+"arguments-null", "the arguments of prompts are null", listed(prompts, put("arguments", nil))),
		breaks(list+"arguments-schema", "the arguments of prompts are a JSON Schema", listed(prompts, put("arguments", raw(`{"type":"object","properties":{"name":{"type":"string"}}}`)))),
		breaks(list+"arguments-names", "the arguments of prompts are names", listed(prompts, put("arguments", []any{"name", "style"}))),
		breaks(list+"argument-no-name", "the arguments of prompts have no name", arguments(leaveOut("name"))),
		breaks(list+"argument-required-text", "an argument says required as a string", arguments(put("required", "true"))),
		breaks(list+"argument-required-null", "an argument says required as null", arguments(put("required", nil))),
		breaks(list+"title-object", "the titles of prompts are objects by language", listed(prompts, put("title", map[string]any{"en": "Hello"}))).in(from(spec.V20250618)...),
		breaks(list+"meta-text", "the _meta of prompts is a string", listed(prompts, put("_meta", "x"))).in(from(spec.V20250618)...),
	}
}
