package faults

import "github.com/mcp-conform/mcp-conform/internal/spec"

// contentFaults returns the faults in the content blocks that prompts and tools return.
// The specification restricts content of prompts more than content of tool results.
func contentFaults() []*Fault {
	const audio = `{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"}`
	const link = `{"type":"resource_link","uri":"demo://text/hello","name":"hello"}`
	const oldest, second, later = "content.type.by-revision-2024-11-05/", "content.type.by-revision-2025-03-26/", "content.type.by-revision-2025-06-18/"
	return []*Fault{
		newFault(oldest+"audio", "prompts contain audio, which a later revision introduced", editPromptBlocks("text", replaceObject(audio))),
		newFault(oldest+"link", "prompts contain resource links, which a later revision introduced", editPromptBlocks("text", replaceObject(link))),
		newFault(oldest+"markdown", "text in prompts has the type markdown", editPromptBlocks("text", setValue("type", "markdown"))),
		newFault(second+"link", "prompts contain resource links, which a later revision introduced", editPromptBlocks("text", replaceObject(link))),
		newFault(second+"link-in-tools", "tools return resource links, which a later revision introduced", editToolBlocks("text", replaceObject(link))),
		newFault(second+"upper-case", "text in prompts has the type Text", editPromptBlocks("text", setValue("type", "Text"))),
		newFault(later+"tool-use", "prompts contain tool_use, which is only for sampling", editPromptBlocks("text", replaceObject(`{"type":"tool_use","id":"1","name":"echo","input":{}}`))),
		newFault(later+"tool-result", "tools return tool_result, which is only for sampling", editToolBlocks("text", replaceObject(`{"type":"tool_result","toolUseId":"1","content":[]}`))),
		newFault(later+"json", "tools return a block of the type json", editToolBlocks("text", replaceObject(`{"type":"json","json":{"a":1}}`))),
		newFault(later+"video", "prompts contain a video", editPromptBlocks("image", replaceObject(`{"type":"video","data":"AAAA","mimeType":"video/mp4"}`))),
		newFault(later+"camel-case", "tools return links of the type resourceLink", editToolBlocks("resource_link", setValue("type", "resourceLink"))),

		newFault("content.image.base64/data-uri", "images in prompts are data: URIs", editPromptBlocks("image", setValue("data", "data:image/png;base64,iVBORw0KGgo="))),
		newFault("content.image.base64/url-safe", "images in prompts are in URL-safe base64", editPromptBlocks("image", setValue("data", "-_-_"))),
		newFault("content.image.base64/svg", "images in prompts are SVG in plain text", editPromptBlocks("image", setValue("data", "<svg xmlns='http://www.w3.org/2000/svg'/>"))),
		newFault("content.image.base64/truncated", "images in prompts lack their last bytes", editPromptBlocks("image", setValue("data", "iVBORw0KGgoAA"))),
		newFault("content.image.base64/address", "images in prompts are URLs", editPromptBlocks("image", setValue("data", "https://example.com/dot.png"))),
		newFault("content.image.base64/data-uri-in-tools", "images that tools return are data: URIs", editToolBlocks("image", setValue("data", "data:image/png;base64,iVBORw0KGgo="))).inRevisions(revisionsWithReadOnlyHint()...),
		newFault("content.image.base64/spaces-in-tools", "images that tools return have spaces in their base64", editToolBlocks("image", setValue("data", "iVBO Rw0K Ggo="))).inRevisions(revisionsWithReadOnlyHint()...),
		newFault("content.image.mime-type-valid/bare", "images in prompts have the MIME type png", editPromptBlocks("image", setValue("mimeType", "png"))),
		newFault("content.image.mime-type-valid/empty", "images in prompts have an empty MIME type", editPromptBlocks("image", setValue("mimeType", ""))),
		newFault("content.image.mime-type-valid/extension", "images in prompts have the MIME type .png", editPromptBlocks("image", setValue("mimeType", ".png"))),
		newFault("content.image.mime-type-valid/text", "images in prompts have the MIME type of text", editPromptBlocks("image", setValue("mimeType", "text/plain"))),
		newFault("content.image.mime-type-valid/bare-in-tools", "images that tools return have the MIME type PNG", editToolBlocks("image", setValue("mimeType", "PNG"))).inRevisions(revisionsWithReadOnlyHint()...),
		newFault("content.audio.base64/data-uri", "audio in prompts is a data: URI", editPromptBlocks("audio", setValue("data", "data:audio/wav;base64,UklGRg=="))),
		newFault("content.audio.base64/bytes", "audio in prompts is raw bytes instead of base64", editPromptBlocks("audio", setValue("data", "RIFF&\u0000\u0000\u0000WAVE"))),
		newFault("content.audio.base64/path-in-tools", "audio that tools return is the path of a file", editToolBlocks("audio", setValue("data", "recordings/out-1.wav"))),
		newFault("content.audio.mime-type-valid/bare", "audio in prompts has the MIME type wav", editPromptBlocks("audio", setValue("mimeType", "wav"))),
		newFault("content.audio.mime-type-valid/image", "audio in prompts has the MIME type of an image", editPromptBlocks("audio", setValue("mimeType", "image/png"))),
		newFault("content.audio.mime-type-valid/bare-in-tools", "audio that tools return has the MIME type mp3", editToolBlocks("audio", setValue("mimeType", "mp3"))),

		newFault("content.blob.base64/data-uri", "blobs that tools embed are data: URIs", editToolBlocks("resource", editMember("resource", ifHas("blob", setValue("blob", "data:image/png;base64,iVBORw0KGgo="))))).
			inRevisions(revisionsWithReadOnlyHint()...),
		newFault("content.blob.base64/text", "blobs that tools embed are plain text", editToolBlocks("resource", editMember("resource", ifHas("blob", setValue("blob", "Hello, world."))))).inRevisions(revisionsWithReadOnlyHint()...),
		newFault("content.embedded.uri-valid/path", "resources that tools embed have a path as URI", editToolBlocks("resource", editMember("resource", setValue("uri", "/home/me/notes.txt")))).inRevisions(revisionsWithReadOnlyHint()...),
		newFault("content.embedded.uri-valid/windows", "resources that tools embed have a Windows path as URI", editToolBlocks("resource", editMember("resource", setValue("uri", `C:\notes.txt`)))).
			inRevisions(revisionsWithReadOnlyHint()...),
		newFault("content.embedded.uri-valid/empty", "resources that tools embed have an empty URI", editToolBlocks("resource", editMember("resource", setValue("uri", "")))).inRevisions(revisionsWithReadOnlyHint()...),
		newFault("content.resource-link.uri-valid/relative", "links that tools return are relative", editToolBlocks("resource_link", setValue("uri", "notes/hello.txt"))),
		newFault("content.resource-link.uri-valid/space", "links in prompts have a space in their URI", editPromptBlocks("resource_link", setValue("uri", "demo://text/my notes"))),

		newFault("content.prompt-embedded.uri-valid/path", "resources embedded in prompts have a path as URI", editPromptBlocks("resource", editMember("resource", setValue("uri", "/home/me/notes.txt")))),
		newFault("content.prompt-embedded.uri-valid/name", "resources embedded in prompts have a name as URI", editPromptBlocks("resource", editMember("resource", setValue("uri", "hello")))),
		newFault("content.prompt-embedded.uri-valid/percent", "resources embedded in prompts have a lone percent sign in their URI", editPromptBlocks("resource", editMember("resource", setValue("uri", "demo://text/100%")))),
		newFault("content.prompt-embedded.text-or-blob/both", "resources embedded in prompts have both text and blob", editPromptBlocks("resource", editMember("resource", ifHas("text", setValue("blob", "SGVsbG8="))))),
		newFault("content.prompt-embedded.text-or-blob/no-base64", "blobs embedded in prompts are plain text", editPromptBlocks("resource", editMember("resource", ifHas("blob", setValue("blob", "Hello, world."))))),
		newFault("content.prompt-embedded.text-or-blob/neither", "resources embedded in prompts have neither text nor blob", editPromptBlocks("resource", editMember("resource", omitMembers("text", "blob")))),
		newFault("content.prompt-embedded.mime-type-present/missing", "resources embedded in prompts lack a MIME type", editPromptBlocks("resource", editMember("resource", omitMembers("mimeType")))),
	}
}

// annotationFaults returns the faults in annotations and MIME types, in all objects
// that can have them.
func annotationFaults() []*Fault {
	const resources, templates = spec.MethodResourcesList, spec.MethodResourcesTemplates
	return []*Fault{
		newFault("content.annotations.audience-values/human", "the audience of resources is human, which is not a role", setAnnotation(resources, "audience", []any{"human"})),
		newFault("content.annotations.audience-values/system", "the audience of resources includes system, which is not a role", setAnnotation(resources, "audience", []any{"user", "system"})),
		newFault("content.annotations.audience-values/text", "the audience of templates is a string", setAnnotation(templates, "audience", "user")),
		newFault("content.annotations.audience-values/object", "the audience of templates is an object", setAnnotation(templates, "audience", map[string]any{"user": true})),
		newFault("content.annotations.audience-values/upper-case", "the audience of text in prompts is User", editPromptBlocks("text", editMember("annotations", setValue("audience", []any{"User"})))),
		newFault("content.annotations.audience-values/null-in-tools", "the audience of text from tools is null", editToolBlocks("text", editMember("annotations", setValue("audience", nil)))).inRevisions(revisionsWithReadOnlyHint()...),
		newFault("content.annotations.priority-range/above", "resources have the priority 1.5", setAnnotation(resources, "priority", rawJSON("1.5"))),
		newFault("content.annotations.priority-range/just-above", "the priority of resources is slightly above 1", setAnnotation(resources, "priority", rawJSON("1.0000001"))),
		newFault("content.annotations.priority-range/negative", "templates have the priority -0.1", setAnnotation(templates, "priority", rawJSON("-0.1"))),
		newFault("content.annotations.priority-range/percent", "templates have the priority 90", setAnnotation(templates, "priority", rawJSON("90"))),
		newFault("content.annotations.priority-range/above-in-prompts", "images in prompts have the priority 10", editPromptBlocks("image", editMember("annotations", setValue("priority", rawJSON("10"))))),
		newFault("content.annotations.priority-range/above-in-tools", "text from tools has the priority 2", editToolBlocks("text", editMember("annotations", setValue("priority", rawJSON("2"))))).inRevisions(revisionsWithReadOnlyHint()...),
		newFault("content.annotations.last-modified-iso8601/http", "lastModified of resources is an HTTP date", setAnnotation(resources, "lastModified", "Sun, 12 Jan 2025 15:00:58 GMT")),
		newFault("content.annotations.last-modified-iso8601/script", "lastModified of resources is a JavaScript date string", setAnnotation(resources, "lastModified", "Sun Jan 12 2025 15:00:58 GMT+0000 (Coordinated Universal Time)")),
		newFault("content.annotations.last-modified-iso8601/seconds", "lastModified of resources is a number of seconds", setAnnotation(resources, "lastModified", "1736694058")),
		newFault("content.annotations.last-modified-iso8601/slashes", "lastModified of resources is written with slashes", setAnnotation(resources, "lastModified", "01/12/2025")),
		newFault("content.annotations.last-modified-iso8601/month", "lastModified of resources has month 13", setAnnotation(resources, "lastModified", "2025-13-01T00:00:00Z")),
		newFault("content.annotations.last-modified-iso8601/word", "lastModified of resources is a word", setAnnotation(resources, "lastModified", "yesterday")),
		newFault("content.annotations.last-modified-iso8601/in-tools", "lastModified of text from tools is written with slashes", editToolBlocks("text", editMember("annotations", setValue("lastModified", "2025/01/12")))),

		newFault("content.mime-type.syntax/resources", "resources have the MIME type text", editListItems(resources, setValue("mimeType", "text"))),
		newFault("content.mime-type.syntax/extension", "resources have the MIME type .md", editListItems(resources, setValue("mimeType", ".md"))),
		newFault("content.mime-type.syntax/empty", "resources have an empty MIME type", editListItems(resources, setValue("mimeType", ""))),
		newFault("content.mime-type.syntax/templates", "templates have the MIME type markdown", editListItems(templates, setValue("mimeType", "markdown"))),
		newFault("content.mime-type.syntax/contents", "contents of resources have a sentence as MIME type", editListItems(spec.MethodResourcesRead, setValue("mimeType", "plain text"))),
		newFault("content.mime-type.syntax/embedded", "resources that tools embed have the MIME type text/", editToolBlocks("resource", editMember("resource", setValue("mimeType", "text/")))).inRevisions(revisionsWithReadOnlyHint()...),
		newFault("content.mime-type.syntax/icons", "icons of tools have the MIME type png", editListItems(spec.MethodToolsList, editItems("icons", setValue("mimeType", "png")))).inRevisions(spec.V20251125),
	}
}

// iconFaults returns the faults in icons of tools, prompts, resources, templates and
// the server.
func iconFaults() []*Fault {
	const tools, prompts, resources, templates = spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodResourcesTemplates
	return []*Fault{
		newFault("content.icons.src-valid-uri/path", "icons of tools have a path as src", editIcons(tools, setValue("src", "/icons/tool.png"))),
		newFault("content.icons.src-valid-uri/relative", "icons of prompts have a relative src", editIcons(prompts, setValue("src", "icon.png"))),
		newFault("content.icons.src-valid-uri/space", "icons of resources have a space in src", editIcons(resources, setValue("src", "https://example.com/my icon.png"))),
		newFault("content.icons.src-valid-uri/no-scheme", "the server's icon has a src without a scheme", editIcons(spec.MethodInitialize, setValue("src", "//example.com/icon.png"))),
		newFault("content.icons.src-scheme/file", "icons of tools have a file: URI as src", editIcons(tools, setValue("src", "file:///usr/share/icons/tool.png"))),
		newFault("content.icons.src-scheme/javascript", "icons of prompts have a javascript: URI as src", editIcons(prompts, setValue("src", "javascript:alert(1)"))),
		newFault("content.icons.src-scheme/own", "icons of templates have a resource URI of the server as src", editIcons(templates, setValue("src", "demo://image/dot"))),
		newFault("content.icons.src-scheme/ftp", "the server's icon has an ftp: URI as src", editIcons(spec.MethodInitialize, setValue("src", "ftp://example.com/icon.png"))),
		newFault("content.icons.data-uri-base64/svg", "icons of tools are data: URIs with SVG in plain text", editIcons(tools, setValue("src", "data:image/svg+xml,%3Csvg%2F%3E"))),
		newFault("content.icons.data-uri-base64/text", "icons of prompts are data: URIs of plain text", editIcons(prompts, setValue("src", "data:text/plain;base64,SGVsbG8="))),
		newFault("content.icons.data-uri-base64/no-base64", "icons of resources are data: URIs with invalid base64", editIcons(resources, setValue("src", "data:image/png;base64,not*base64"))),
		newFault("content.icons.data-uri-base64/no-data", "the server's icon is a data: URI without data", editIcons(spec.MethodInitialize, setValue("src", "data:image/png"))),
		newFault("content.icons.sizes-format/number", "sizes of icons of prompts lack a height", editIcons(prompts, setValue("sizes", []any{"48"}))),
		newFault("content.icons.sizes-format/spaces", "sizes of icons of resources contain spaces", editIcons(resources, setValue("sizes", []any{"48x48", "96 x 96"}))),
		newFault("content.icons.sizes-format/times", "sizes of icons of templates contain a multiplication sign", editIcons(templates, setValue("sizes", []any{"48×48"}))),
		newFault("content.icons.sizes-format/pixels", "sizes of the server's icon end in px", editIcons(spec.MethodInitialize, setValue("sizes", []any{"48px"}))),
		newFault("content.icons.theme/auto", "icons of tools have the theme auto", editIcons(tools, setValue("theme", "auto"))),
		newFault("content.icons.theme/upper-case", "icons of resources have the theme Dark", editIcons(resources, setValue("theme", "Dark"))),
		newFault("content.icons.theme/empty", "the server's icon has an empty theme", editIcons(spec.MethodInitialize, setValue("theme", ""))),
	}
}

// samplingBlockFaults returns the faults in content blocks of sampling requests.
func samplingBlockFaults() []*Fault {
	return []*Fault{
		newFault("content.image.mime-type-valid/sampled", "an image for sampling has the MIME type png", sendSamplingContent(`{"type":"image","data":"iVBORw0KGgo=","mimeType":"png"}`)),
		newFault("content.audio.mime-type-valid/sampled", "audio for sampling has the MIME type of text", sendSamplingContent(`{"type":"audio","data":"UklGRg==","mimeType":"text/plain"}`)),
		newFault("content.annotations.priority-range/sampled", "text for sampling has the priority 11", sendSamplingContent(`{"type":"text","text":"x","annotations":{"priority":11}}`)),
		newFault("content.annotations.audience-values/sampled", "text for sampling has the audience model, which is not a role", sendSamplingContent(`{"type":"text","text":"x","annotations":{"audience":["model"]}}`)),
		newFault("content.blob.base64/sampled", "a blob in a tool_result for sampling is plain text", sendSamplingToolResult(`{"type":"resource","resource":{"uri":"demo://x","blob":"Hello, world."}}`)).inRevisions(spec.V20251125),
		newFault("content.embedded.uri-valid/sampled", "a resource in a tool_result for sampling has a path as URI", sendSamplingToolResult(`{"type":"resource","resource":{"uri":"/x","text":""}}`)).inRevisions(spec.V20251125),
		newFault("content.resource-link.uri-valid/sampled", "a link in a tool_result for sampling has an empty URI", sendSamplingToolResult(`{"type":"resource_link","uri":"","name":"x"}`)).inRevisions(spec.V20251125),
	}
}

// optionalContentFaults returns the faults that show only with optional arguments of a
// tool.
func optionalContentFaults() []*Fault {
	data := rightSurvey
	data.data = "\u0089PNG\r\n"
	return []*Fault{
		newFault("content.image.base64/on-demand", "an image that a tool returns only on request is not base64", addTools(data.tool())).inRevisions(sinceRevision(spec.V20250618)...),
	}
}
