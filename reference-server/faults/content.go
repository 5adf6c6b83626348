package faults

import "github.com/mcp-conform/mcp-conform/internal/spec"

// contentFaults are the faults in the blocks that prompts and tools return.
// In prompts the specification forbids more than in the results of tools.
func contentFaults() []Fault {
	const audio = `{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"}`
	const link = `{"type":"resource_link","uri":"demo://text/hello","name":"hello"}`
	const oldest, second, later = "content.type.by-revision-2024-11-05/", "content.type.by-revision-2025-03-26/", "content.type.by-revision-2025-06-18/"
	return []Fault{
		breaks(oldest+"audio", "prompts hold audio, which is newer", inPrompts("text", becomes(audio))),
		breaks(oldest+"link", "prompts hold resource links, which are newer", inPrompts("text", becomes(link))),
		breaks(oldest+"markdown", "text in prompts says to be markdown", inPrompts("text", put("type", "markdown"))),
		breaks(second+"link", "prompts hold resource links, which are newer", inPrompts("text", becomes(link))),
		breaks(second+"link-in-tools", "tools return resource links, which are newer", inTools("text", becomes(link))),
		breaks(second+"upper-case", "text in prompts has the type Text", inPrompts("text", put("type", "Text"))),
		breaks(later+"tool-use", "prompts hold a tool use, which is for sampling", inPrompts("text", becomes(`{"type":"tool_use","id":"1","name":"echo","input":{}}`))),
		breaks(later+"tool-result", "tools return a tool result, which is for sampling", inTools("text", becomes(`{"type":"tool_result","toolUseId":"1","content":[]}`))),
		breaks(later+"json", "tools return a block of the type json", inTools("text", becomes(`{"type":"json","json":{"a":1}}`))),
		breaks(later+"video", "prompts hold a video", inPrompts("image", becomes(`{"type":"video","data":"AAAA","mimeType":"video/mp4"}`))),
		breaks(later+"camel-case", "tools return links of the type resourceLink", inTools("resource_link", put("type", "resourceLink"))),

		breaks("content.image.base64/data-uri", "images in prompts are data: URIs", inPrompts("image", put("data", "data:image/png;base64,iVBORw0KGgo="))),
		breaks("content.image.base64/url-safe", "images in prompts are in the base64 of URLs", inPrompts("image", put("data", "-_-_"))),
		breaks("content.image.base64/svg", "images in prompts are SVG in plain text", inPrompts("image", put("data", "<svg xmlns='http://www.w3.org/2000/svg'/>"))),
		breaks("content.image.base64/truncated", "images in prompts lack their last bytes", inPrompts("image", put("data", "iVBORw0KGgoAA"))),
		breaks("content.image.base64/address", "images in prompts are addresses", inPrompts("image", put("data", "https://example.com/dot.png"))),
		breaks("content.image.base64/data-uri-in-tools", "images that tools return are data: URIs", inTools("image", put("data", "data:image/png;base64,iVBORw0KGgo="))).in(callable()...),
		breaks("content.image.base64/spaces-in-tools", "images that tools return have spaces in their base64", inTools("image", put("data", "iVBO Rw0K Ggo="))).in(callable()...),
		breaks("content.image.mime-type-valid/bare", "images in prompts have the MIME type png", inPrompts("image", put("mimeType", "png"))),
		breaks("content.image.mime-type-valid/empty", "images in prompts have an empty MIME type", inPrompts("image", put("mimeType", ""))),
		breaks("content.image.mime-type-valid/extension", "images in prompts have the MIME type .png", inPrompts("image", put("mimeType", ".png"))),
		breaks("content.image.mime-type-valid/text", "images in prompts have the MIME type of text", inPrompts("image", put("mimeType", "text/plain"))),
		breaks("content.image.mime-type-valid/bare-in-tools", "images that tools return have the MIME type PNG", inTools("image", put("mimeType", "PNG"))).in(callable()...),
		breaks("content.audio.base64/data-uri", "audio in prompts is a data: URI", inPrompts("audio", put("data", "data:audio/wav;base64,UklGRg=="))),
		breaks("content.audio.base64/bytes", "audio in prompts is bytes made characters", inPrompts("audio", put("data", "RIFF&\u0000\u0000\u0000WAVE"))),
		breaks("content.audio.base64/path-in-tools", "audio that tools return is the path of a file", inTools("audio", put("data", "recordings/out-1.wav"))),
		breaks("content.audio.mime-type-valid/bare", "audio in prompts has the MIME type wav", inPrompts("audio", put("mimeType", "wav"))),
		breaks("content.audio.mime-type-valid/image", "audio in prompts has the MIME type of an image", inPrompts("audio", put("mimeType", "image/png"))),
		breaks("content.audio.mime-type-valid/bare-in-tools", "audio that tools return has the MIME type mp3", inTools("audio", put("mimeType", "mp3"))),

		breaks("content.blob.base64/data-uri", "blobs that tools embed are data: URIs", inTools("resource", inside("resource", having("blob", put("blob", "data:image/png;base64,iVBORw0KGgo="))))).
			in(callable()...),
		breaks("content.blob.base64/text", "blobs that tools embed are plain text", inTools("resource", inside("resource", having("blob", put("blob", "Hello, world."))))).in(callable()...),
		breaks("content.embedded.uri-valid/path", "resources that tools embed have a path for a URI", inTools("resource", inside("resource", put("uri", "/home/me/notes.txt")))).in(callable()...),
		breaks("content.embedded.uri-valid/windows", "resources that tools embed have a path of Windows for a URI", inTools("resource", inside("resource", put("uri", `C:\notes.txt`)))).
			in(callable()...),
		breaks("content.embedded.uri-valid/empty", "resources that tools embed have an empty URI", inTools("resource", inside("resource", put("uri", "")))).in(callable()...),
		breaks("content.resource-link.uri-valid/relative", "links that tools return are relative", inTools("resource_link", put("uri", "notes/hello.txt"))),
		breaks("content.resource-link.uri-valid/space", "links in prompts have a space in their URI", inPrompts("resource_link", put("uri", "demo://text/my notes"))),

		breaks("content.prompt-embedded.uri-valid/path", "resources embedded in prompts have a path for a URI", inPrompts("resource", inside("resource", put("uri", "/home/me/notes.txt")))),
		breaks("content.prompt-embedded.uri-valid/name", "resources embedded in prompts have a name for a URI", inPrompts("resource", inside("resource", put("uri", "hello")))),
		breaks("content.prompt-embedded.uri-valid/percent", "resources embedded in prompts have a lone percent sign in their URI", inPrompts("resource", inside("resource", put("uri", "demo://text/100%")))),
		breaks("content.prompt-embedded.text-or-blob/both", "resources embedded in prompts have text and a blob", inPrompts("resource", inside("resource", having("text", put("blob", "SGVsbG8="))))),
		breaks("content.prompt-embedded.text-or-blob/no-base64", "blobs embedded in prompts are plain text", inPrompts("resource", inside("resource", having("blob", put("blob", "Hello, world."))))),
		breaks("content.prompt-embedded.text-or-blob/neither", "resources embedded in prompts have neither text nor a blob", inPrompts("resource", inside("resource", leaveOut("text", "blob")))),
		breaks("content.prompt-embedded.mime-type-present/missing", "resources embedded in prompts name no MIME type", inPrompts("resource", inside("resource", leaveOut("mimeType")))),
	}
}

// annotationFaults are the faults in annotations and MIME types, wherever
// they may stand.
func annotationFaults() []Fault {
	const resources, templates = spec.MethodResourcesList, spec.MethodResourcesTemplates
	return []Fault{
		breaks("content.annotations.audience-values/human", "resources are for humans, which is no role", annotated(resources, "audience", []any{"human"})),
		breaks("content.annotations.audience-values/system", "resources are for the system, which is no role", annotated(resources, "audience", []any{"user", "system"})),
		breaks("content.annotations.audience-values/text", "the audience of templates is a string", annotated(templates, "audience", "user")),
		breaks("content.annotations.audience-values/object", "the audience of templates is an object", annotated(templates, "audience", map[string]any{"user": true})),
		breaks("content.annotations.audience-values/upper-case", "the audience of text in prompts is User", inPrompts("text", inside("annotations", put("audience", []any{"User"})))),
		breaks("content.annotations.audience-values/null-in-tools", "the audience of text from tools is null", inTools("text", inside("annotations", put("audience", nil)))).in(callable()...),
		breaks("content.annotations.priority-range/above", "resources have the priority 1.5", annotated(resources, "priority", raw("1.5"))),
		breaks("content.annotations.priority-range/just-above", "resources have a priority a little above 1", annotated(resources, "priority", raw("1.0000001"))),
		breaks("content.annotations.priority-range/negative", "templates have the priority -0.1", annotated(templates, "priority", raw("-0.1"))),
		breaks("content.annotations.priority-range/percent", "templates have the priority 90", annotated(templates, "priority", raw("90"))),
		breaks("content.annotations.priority-range/above-in-prompts", "images in prompts have the priority 10", inPrompts("image", inside("annotations", put("priority", raw("10"))))),
		breaks("content.annotations.priority-range/above-in-tools", "text from tools has the priority 2", inTools("text", inside("annotations", put("priority", raw("2"))))).in(callable()...),
		breaks("content.annotations.last-modified-iso8601/http", "lastModified of resources is written as in HTTP", annotated(resources, "lastModified", "Sun, 12 Jan 2025 15:00:58 GMT")),
		breaks("content.annotations.last-modified-iso8601/script", "lastModified of resources is written as scripts do", annotated(resources, "lastModified", "Sun Jan 12 2025 15:00:58 GMT+0000 (Coordinated Universal Time)")),
		breaks("content.annotations.last-modified-iso8601/seconds", "lastModified of resources is a number of seconds", annotated(resources, "lastModified", "1736694058")),
		breaks("content.annotations.last-modified-iso8601/slashes", "lastModified of resources is written with slashes", annotated(resources, "lastModified", "01/12/2025")),
		breaks("content.annotations.last-modified-iso8601/month", "lastModified of resources is in a thirteenth month", annotated(resources, "lastModified", "2025-13-01T00:00:00Z")),
		breaks("content.annotations.last-modified-iso8601/word", "lastModified of resources is a word", annotated(resources, "lastModified", "yesterday")),
		breaks("content.annotations.last-modified-iso8601/in-tools", "lastModified of text from tools is written with slashes", inTools("text", inside("annotations", put("lastModified", "2025/01/12")))),

		breaks("content.mime-type.syntax/resources", "resources have the MIME type text", listed(resources, put("mimeType", "text"))),
		breaks("content.mime-type.syntax/extension", "resources have the MIME type .md", listed(resources, put("mimeType", ".md"))),
		breaks("content.mime-type.syntax/empty", "resources have an empty MIME type", listed(resources, put("mimeType", ""))),
		breaks("content.mime-type.syntax/templates", "templates have the MIME type markdown", listed(templates, put("mimeType", "markdown"))),
		breaks("content.mime-type.syntax/contents", "what is read has a sentence for a MIME type", listed(spec.MethodResourcesRead, put("mimeType", "plain text"))),
		breaks("content.mime-type.syntax/embedded", "resources that tools embed have the MIME type text/", inTools("resource", inside("resource", put("mimeType", "text/")))).in(callable()...),
		breaks("content.mime-type.syntax/icons", "icons of tools have the MIME type png", listed(spec.MethodToolsList, inEach("icons", put("mimeType", "png")))).in(spec.V20251125),
	}
}

// iconFaults are the faults in icons, which all that is named may have.
func iconFaults() []Fault {
	const tools, prompts, resources, templates = spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList, spec.MethodResourcesTemplates
	return []Fault{
		breaks("content.icons.src-valid-uri/path", "icons of tools have a path for a source", iconed(tools, put("src", "/icons/tool.png"))),
		breaks("content.icons.src-valid-uri/relative", "icons of prompts have a relative source", iconed(prompts, put("src", "icon.png"))),
		breaks("content.icons.src-valid-uri/space", "icons of resources have a space in their source", iconed(resources, put("src", "https://example.com/my icon.png"))),
		breaks("content.icons.src-valid-uri/no-scheme", "the server's icon has a source without a scheme", iconed(spec.MethodInitialize, put("src", "//example.com/icon.png"))),
		breaks("content.icons.src-scheme/file", "icons of tools are files", iconed(tools, put("src", "file:///usr/share/icons/tool.png"))),
		breaks("content.icons.src-scheme/javascript", "icons of prompts are scripts", iconed(prompts, put("src", "javascript:alert(1)"))),
		breaks("content.icons.src-scheme/own", "icons of templates are resources of the server", iconed(templates, put("src", "demo://image/dot"))),
		breaks("content.icons.src-scheme/ftp", "the server's icon is fetched by FTP", iconed(spec.MethodInitialize, put("src", "ftp://example.com/icon.png"))),
		breaks("content.icons.data-uri-base64/svg", "icons of tools are SVG in plain text", iconed(tools, put("src", "data:image/svg+xml,%3Csvg%2F%3E"))),
		breaks("content.icons.data-uri-base64/text", "icons of prompts are text", iconed(prompts, put("src", "data:text/plain;base64,SGVsbG8="))),
		breaks("content.icons.data-uri-base64/no-base64", "icons of resources are no base64", iconed(resources, put("src", "data:image/png;base64,not*base64"))),
		breaks("content.icons.data-uri-base64/no-data", "the server's icon holds no data", iconed(spec.MethodInitialize, put("src", "data:image/png"))),
		breaks("content.icons.sizes-format/number", "the sizes of icons of prompts have no height", iconed(prompts, put("sizes", []any{"48"}))),
		breaks("content.icons.sizes-format/spaces", "the sizes of icons of resources have spaces", iconed(resources, put("sizes", []any{"48x48", "96 x 96"}))),
		breaks("content.icons.sizes-format/times", "the sizes of icons of templates have a multiplication sign", iconed(templates, put("sizes", []any{"48×48"}))),
		breaks("content.icons.sizes-format/pixels", "the sizes of the server's icon are in pixels", iconed(spec.MethodInitialize, put("sizes", []any{"48px"}))),
		breaks("content.icons.theme/auto", "icons of tools are for the theme auto", iconed(tools, put("theme", "auto"))),
		breaks("content.icons.theme/upper-case", "icons of resources are for the theme Dark", iconed(resources, put("theme", "Dark"))),
		breaks("content.icons.theme/empty", "the server's icon is for a theme without a name", iconed(spec.MethodInitialize, put("theme", ""))),
	}
}

// sampledBlockFaults are the faults in content blocks that are shown to a model.
func sampledBlockFaults() []Fault {
	return []Fault{
		breaks("content.image.mime-type-valid/sampled", "an image for sampling has the MIME type png", sampledContent(`{"type":"image","data":"iVBORw0KGgo=","mimeType":"png"}`)),
		breaks("content.audio.mime-type-valid/sampled", "audio for sampling has the MIME type of text", sampledContent(`{"type":"audio","data":"UklGRg==","mimeType":"text/plain"}`)),
		breaks("content.annotations.priority-range/sampled", "text for sampling has the priority 11", sampledContent(`{"type":"text","text":"x","annotations":{"priority":11}}`)),
		breaks("content.annotations.audience-values/sampled", "text for sampling is for the model, which is no role", sampledContent(`{"type":"text","text":"x","annotations":{"audience":["model"]}}`)),
		breaks("content.blob.base64/sampled", "a blob in a tool's result for sampling is plain text", sampledUse(`{"type":"resource","resource":{"uri":"demo://x","blob":"Hello, world."}}`)).in(spec.V20251125),
		breaks("content.embedded.uri-valid/sampled", "a resource in a tool's result for sampling has a path for a URI", sampledUse(`{"type":"resource","resource":{"uri":"/x","text":""}}`)).in(spec.V20251125),
		breaks("content.resource-link.uri-valid/sampled", "a link in a tool's result for sampling has no URI", sampledUse(`{"type":"resource_link","uri":"","name":"x"}`)).in(spec.V20251125),
	}
}

// demandedContentFaults show only with arguments that a tool does not require.
func demandedContentFaults() []Fault {
	data := rightSurvey
	data.data = "\u0089PNG\r\n"
	return []Fault{
		breaks("content.image.base64/on-demand", "the image that a tool returns on demand is not encoded", adds(data.tool())).in(from(spec.V20250618)...),
	}
}
