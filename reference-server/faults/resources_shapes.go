package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// resourceShapeFaults returns the faults in the shape of the lists of resources and
// templates.
func resourceShapeFaults() []*Fault {
	const list, resources = "resources.list.result-schema/", spec.MethodResourcesList
	const families, templates = "resources.templates.result-schema/", spec.MethodResourcesTemplates
	template := func(text string) *refserver.Seams { return editListItems(templates, setValue("uriTemplate", text)) }
	uri := func(text string) *refserver.Seams { return editListItems(resources, setValue("uri", text)) }
	return []*Fault{
		newFault(list+"no-resources", "the list of resources lacks the member resources", EditResult(resources, omitMembers("resources"))),
		newFault(list+"resources-null", "the list of resources is null", EditResult(resources, setValue("resources", nil))),
		newFault(list+"resources-object", "the list of resources is an object", EditResult(resources, setValue("resources", map[string]any{}))),
		newFault(list+"uris", "the list of resources is an array of URIs", EditResult(resources, setValue("resources", []any{"demo://text/hello"}))),
		newFault(list+"no-name", "resources have no name", editListItems(resources, omitMembers("name"))),
		newFault(list+"title-only", "resources have a title instead of a name", editListItems(resources, renameMember("name", "title"))),
		newFault(list+"no-uri", "resources have no URI", editListItems(resources, omitMembers("uri"))),
		newFault(list+"uri-null", "the URI of resources is null", editListItems(resources, setValue("uri", nil))),
		newFault(list+"mime-null", "the MIME type of resources is null", editListItems(resources, setValue("mimeType", nil))),
		newFault(list+"size-text", "the size of resources is a string", editListItems(resources, setValue("size", "12 kB"))),
		newFault(list+"size-fraction", "the size of resources is a fraction", editListItems(resources, setValue("size", rawJSON("1.5")))),
		newFault(list+"description-number", "the description of resources is a number", editListItems(resources, setValue("description", 1))),
		newFault(list+"annotations-null", "the annotations of resources are null", editListItems(resources, setValue("annotations", nil))),
		newFault(families+"no-templates", "the list of templates lacks the member resourceTemplates", EditResult(templates, omitMembers("resourceTemplates"))),
		newFault(families+"templates", "the list of templates is called templates", EditResult(templates, renameMember("resourceTemplates", "templates"))),
		newFault(families+"templates-null", "the list of templates is null", EditResult(templates, setValue("resourceTemplates", nil))),
		newFault(families+"uri", "templates have a uri instead of a uriTemplate", editListItems(templates, renameMember("uriTemplate", "uri"))),
		newFault(families+"template-null", "the uriTemplate of templates is null", editListItems(templates, setValue("uriTemplate", nil))),
		newFault(families+"no-name", "templates have no name", editListItems(templates, omitMembers("name"))),
		newFault(families+"icon-no-source", "icons of templates have no source", editIcons(templates, omitMembers("src"))).inRevisions(spec.V20251125),
		newFault(families+"description-null", "the description of templates is null", editListItems(templates, setValue("description", nil))),

		newFault("resources.uri.valid/path", "resources have a path as URI", uri("/etc/hosts")),
		newFault("resources.uri.valid/name", "resources have a name as URI", uri("hello.txt")),
		newFault("resources.uri.valid/space", "resources have a space in their URI", uri("demo://text/my notes")),
		newFault("resources.uri.valid/windows", "resources have a Windows path as URI", uri(`C:\notes.txt`)),
		newFault("resources.uri.valid/percent", "resources have a lone percent sign in their URI", uri("demo://text/100%")),
		newFault("resources.uri.valid/template", "resources have a template as URI", uri("demo://items/{number}")),
		newFault("resources.uri.valid/empty", "resources have an empty URI", uri("")),
		newFault("resources.uri.valid/contents", "contents of resources have a path as URI", editListItems(spec.MethodResourcesRead, setValue("uri", "text/hello"))),
		newFault("resources.uri.valid/update", "an update has a path as URI", notifyOnInitialized(spec.MethodResourcesUpdated, `{"uri":"/etc/hosts"}`)),
		newFault("resources.uri.custom-scheme-rfc3986/underscore", "resources have a scheme with an underscore", uri("my_notes://hello")),
		newFault("resources.uri.custom-scheme-rfc3986/digit", "resources have a scheme that begins with a digit", uri("1notes://hello")),
		newFault("resources.templates.uri-template-valid/open", "templates have a brace that is not closed", template("demo://items/{number")),
		newFault("resources.templates.uri-template-valid/closed", "templates have a brace that is not opened", template("demo://items/number}")),
		newFault("resources.templates.uri-template-valid/empty", "templates have a variable without a name", template("demo://items/{}")),
		newFault("resources.templates.uri-template-valid/double", "templates have double braces", template("demo://items/{{number}}")),
		newFault("resources.templates.uri-template-valid/space", "templates have a space in a variable", template("demo://items/{item number}")),
		newFault("resources.templates.uri-template-valid/angle", "templates have angle brackets", template("demo://items/<number>")),
		newFault("resources.templates.uri-template-valid/hyphen", "templates have a hyphen in a variable", template("demo://items/{item-number}")),
		newFault("resources.templates.uri-template-valid/operator", "templates have a reserved operator", template("demo://items/{=number}")),
		newFault("resources.templates.uri-template-valid/expression", "templates have a regular expression in a variable", template(`demo://items/{number:\d+}`)),
	}
}

// readShapeFaults returns the faults in the shape of results of resources/read.
func readShapeFaults() []*Fault {
	const read, contents = "resources.read.result-schema/", spec.MethodResourcesRead
	blob := func(v any) *refserver.Seams { return editListItems(contents, ifHas("blob", setValue("blob", v))) }
	return []*Fault{
		newFault(read+"no-contents", "resources/read lacks the member contents", EditResult(contents, omitMembers("contents"))),
		newFault(read+"content", "resources/read has content instead of contents", EditResult(contents, renameMember("contents", "content"))),
		newFault(read+"contents-null", "the contents of resources/read are null", EditResult(contents, setValue("contents", nil))),
		newFault(read+"contents-text", "the contents of resources/read are a string", EditResult(contents, setValue("contents", "Hello, world."))),
		newFault(read+"contents-object", "the contents of resources/read are a single object", EditResult(contents, setValue("contents", rawJSON(`{"uri":"demo://text/hello","text":"Hello, world."}`)))),
		newFault(read+"no-uri", "contents of resources have no URI", editListItems(contents, omitMembers("uri"))),
		newFault(read+"neither", "contents of resources have neither text nor blob", editListItems(contents, omitMembers("text", "blob"))),
		newFault(read+"blocks", "contents of resources are content blocks", editListItems(contents, replaceObject(`{"type":"text","content":"Hello, world."}`))),
		newFault(read+"text-null", "the text of resources is null", editListItems(contents, ifHas("text", setValue("text", nil)))),
		newFault(read+"text-object", "the text of JSON resources is an object", editListItems(contents, ifHas("text", setValue("text", map[string]any{"answer": 42})))),
		newFault(read+"blob-bytes", "the blob of resources is an array of bytes", blob([]any{137, 80, 78, 71})),
		newFault(read+"blob-buffer", "the blob of resources is a JavaScript Buffer", blob(rawJSON(`{"type":"Buffer","data":[137,80,78,71]}`))),
		newFault("resources.read.text-or-blob/both", "contents of resources have both text and blob", editListItems(contents, ifHas("text", setValue("blob", "SGVsbG8=")))),
		newFault("resources.read.text-or-blob/null-beside", "contents of resources have a blob and an empty text", editListItems(contents, ifHas("blob", setValue("text", "")))),
		newFault("resources.read.blob-base64/line-breaks", "the blob of resources contains line breaks", blob("iVBORw0K\nGgo=\n")),
		newFault("resources.read.blob-base64/no-padding", "the blob of resources lacks its padding", blob("iVBORw0KGgo")),
		newFault("resources.read.blob-base64/data-uri", "the blob of resources is a data: URI", blob("data:image/png;base64,iVBORw0KGgo=")),
		newFault("resources.read.blob-base64/url-safe", "the blob of resources is in URL-safe base64", blob("-_-_")),
		newFault("resources.read.blob-base64/text", "the blob of resources is plain text", blob("Hello, world.")),
		newFault("resources.read.blob-base64/bytes", "the blob of resources is raw bytes instead of base64", blob("\u0089PNG\r\n\u001a\n")),
		newFault("resources.read.blob-base64/truncated", "the blob of resources lacks its last bytes", blob("iVBORw0KGgoAA")),
	}
}

// updatedShapeFaults returns the faults in the shape of
// notifications/resources/updated.
func updatedShapeFaults() []*Fault {
	const updated = "resources.updated.schema/"
	updates := func(params string) *refserver.Seams { return notifyOnInitialized(spec.MethodResourcesUpdated, params) }
	return []*Fault{
		newFault(updated+"no-params", "an update has no params", updates("")),
		newFault(updated+"no-uri", "an update has no URI", updates("{}")),
		newFault(updated+"uri-null", "the URI of an update is null", updates(`{"uri":null}`)),
		newFault(updated+"uris", "the URI of an update is an array", updates(`{"uri":["demo://note","demo://roots"]}`)),
		newFault(updated+"resource", "an update has a resource instead of a URI", updates(`{"resource":{"uri":"demo://note"}}`)),
	}
}
