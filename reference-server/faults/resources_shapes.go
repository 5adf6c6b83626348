package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

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
	}
}

// readShapeFaults are the faults in what reading resources and getting
// prompts gives.
func readShapeFaults() []Fault {
	const read, contents = "resources.read.result-schema/", spec.MethodResourcesRead
	blob := func(v any) refserver.Seams { return listed(contents, having("blob", put("blob", v))) }
	return []Fault{
		breaks(read+"no-contents", "what is read lacks the member contents", EditResult(contents, leaveOut("contents"))),
		breaks(read+"content", "what is read is called content", EditResult(contents, rename("contents", "content"))),
		breaks(read+"contents-null", "what is read is null", EditResult(contents, put("contents", nil))),
		breaks(read+"contents-text", "what is read is a string", EditResult(contents, put("contents", "Hello, world."))),
		breaks(read+"contents-object", "what is read is one object", EditResult(contents, put("contents", raw(`{"uri":"demo://text/hello","text":"Hello, world."}`)))),
		breaks(read+"no-uri", "what is read has no URI", listed(contents, leaveOut("uri"))),
		breaks(read+"neither", "what is read has neither text nor a blob", listed(contents, leaveOut("text", "blob"))),
		breaks(read+"blocks", "what is read is content blocks", listed(contents, becomes(`{"type":"text","content":"Hello, world."}`))),
		breaks(read+"text-null", "the text that is read is null", listed(contents, having("text", put("text", nil)))),
		breaks(read+"text-object", "JSON that is read is an object instead of text", listed(contents, having("text", put("text", map[string]any{"answer": 42})))),
		breaks(read+"blob-bytes", "the blob that is read is an array of bytes", blob([]any{137, 80, 78, 71})),
		breaks(read+"blob-buffer", "the blob that is read is a buffer of JavaScript", blob(raw(`{"type":"Buffer","data":[137,80,78,71]}`))),
		breaks("resources.read.text-or-blob/both", "what is read has text and a blob", listed(contents, having("text", put("blob", "SGVsbG8=")))),
		breaks("resources.read.text-or-blob/null-beside", "what is read has a blob and text that is empty", listed(contents, having("blob", put("text", "")))),
		breaks("resources.read.blob-base64/line-breaks", "the blob that is read has line breaks", blob("iVBORw0K\nGgo=\n")),
		breaks("resources.read.blob-base64/no-padding", "the blob that is read lacks its padding", blob("iVBORw0KGgo")),
		breaks("resources.read.blob-base64/data-uri", "the blob that is read is a data: URI", blob("data:image/png;base64,iVBORw0KGgo=")),
		breaks("resources.read.blob-base64/url-safe", "the blob that is read is in the base64 of URLs", blob("-_-_")),
		breaks("resources.read.blob-base64/text", "the blob that is read is plain text", blob("Hello, world.")),
		breaks("resources.read.blob-base64/bytes", "the blob that is read is bytes made characters", blob("\u0089PNG\r\n\u001a\n")),
		breaks("resources.read.blob-base64/truncated", "the blob that is read lacks its last bytes", blob("iVBORw0KGgoAA")),
	}
}

// updatedShapeFaults are the faults in the shape of notifications that a resource
// was updated.
func updatedShapeFaults() []Fault {
	const updated = "resources.updated.schema/"
	updates := func(params string) refserver.Seams { return tells(spec.MethodResourcesUpdated, params) }
	return []Fault{
		breaks(updated+"no-params", "an update has no params", updates("")),
		breaks(updated+"no-uri", "an update names no URI", updates("{}")),
		breaks(updated+"uri-null", "an update names the URI null", updates(`{"uri":null}`)),
		breaks(updated+"uris", "an update names several URIs", updates(`{"uri":["demo://note","demo://roots"]}`)),
		breaks(updated+"resource", "an update holds a resource instead of a URI", updates(`{"resource":{"uri":"demo://note"}}`)),
	}
}
