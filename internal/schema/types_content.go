package schema

import "github.com/mcp-conform/mcp-conform/internal/spec"

// The basic types in results. After them come implementations, content, and what a server offers.

var (
	// id is a request id or a progress token.
	id       = either(text, integer)
	role     = enum("user", "assistant")
	level    = enum("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
	uriText  = text.also(absoluteURI)
	mimeType = text.also(mediaType)
	isoTime  = text.also(isoDate)
	encoded  = text.also(base64Data)
	fraction = number.within(0, 1)
)

// meta is the _meta member of types that have had one since 2025-06-18.
var meta = opt("_meta", record).since(spec.V20250618)

var icon = object("Icon",
	req("src", text.also(absoluteURI, iconSource)),
	opt("mimeType", text.also(mediaType, iconType)),
	opt("sizes", list(text.also(iconSize))),
	opt("theme", enum("light", "dark")),
)

// nameMembers are the members of types that have a name for programs and a title for people.
var nameMembers = with(
	req("name", text),
	opt("title", text).since(spec.V20250618),
)

var icons = opt("icons", list(icon)).since(spec.V20251125)

var implementation = object("Implementation",
	nameMembers, icons,
	req("version", text),
	opt("description", text).since(spec.V20251125),
	opt("websiteUrl", uriText).since(spec.V20251125),
)

var annotations = opt("annotations", object("Annotations",
	opt("audience", list(role)),
	opt("priority", fraction),
	opt("lastModified", isoTime).since(spec.V20250618),
))

// resourceContents is the content of a resource: text or a blob.
var resourceContents = object("ResourceContents",
	req("uri", uriText),
	opt("mimeType", mimeType),
	meta,
).shaped(
	shape("TextResourceContents", req("text", text)),
	shape("BlobResourceContents", req("blob", encoded)),
).also(textXorBlob)

var resourceMembers = with(
	nameMembers, icons,
	req("uri", uriText),
	opt("description", text),
	opt("mimeType", mimeType),
	opt("size", integer),
	annotations, meta,
)

var resource = object("Resource", resourceMembers)

var resourceTemplate = object("ResourceTemplate",
	nameMembers, icons,
	req("uriTemplate", text.also(uriTemplate)),
	opt("description", text),
	opt("mimeType", mimeType),
	annotations, meta,
)

// The content blocks.
var (
	textContent  = object("TextContent", req("text", text), annotations, meta)
	imageContent = object("ImageContent",
		req("data", encoded),
		req("mimeType", text.also(mediaType, imageType)),
		annotations, meta,
	).also(dataMatchesType)
	audioContent = object("AudioContent",
		req("data", encoded),
		req("mimeType", text.also(mediaType, audioType)),
		annotations, meta,
	).also(dataMatchesType)
	resourceLink     = object("ResourceLink", resourceMembers)
	embeddedResource = object("EmbeddedResource", req("resource", resourceContents), annotations, meta)
)

var media = with(
	when("text", textContent),
	when("image", imageContent),
	when("audio", audioContent).since(spec.V20250326),
)

var contentBlock = tagged("type", media,
	when("resource_link", resourceLink).since(spec.V20250618),
	when("resource", embeddedResource),
)

// structuredMembers is the structured part of a tool's result.
var structuredMembers = with(
	opt("structuredContent", record).since(spec.V20250618).until(spec.V20251125),
	opt("structuredContent", anyValue).since(spec.V20260728),
)

// toolResult is a tool's result; in sampling it is also a content block.
var toolResult = with(
	req("content", list(contentBlock)),
	structuredMembers,
	opt("isError", boolean),
)

var samplingBlock = tagged("type", media,
	when("tool_use", object("ToolUseContent",
		req("id", text), req("name", text), req("input", record), meta,
	)).since(spec.V20251125),
	when("tool_result", object("ToolResultContent",
		req("toolUseId", text), toolResult, meta,
	)).since(spec.V20251125),
)

var samplingMembers = with(
	req("role", role),
	req("content", samplingBlock).until(spec.V20250618),
	req("content", either(samplingBlock, list(samplingBlock))).since(spec.V20251125),
	meta.since(spec.V20251125),
)

// argumentSchema are the members of a tool's JSON Schemas that the official types define.
var argumentSchema = with(
	opt("$schema", text).since(spec.V20251125),
	opt("properties", mapOf(record)).until(spec.V20251125),
	opt("required", list(text)).until(spec.V20251125),
)

var objectSchema = object("", req("type", enum("object")), argumentSchema).also(jsonSchema)

var tool = object("Tool",
	nameMembers, icons,
	opt("description", text),
	req("inputSchema", objectSchema),
	opt("outputSchema", objectSchema).since(spec.V20250618).until(spec.V20251125),
	opt("outputSchema", object("", argumentSchema).also(jsonSchema)).since(spec.V20260728),
	opt("annotations", object("ToolAnnotations",
		opt("title", text),
		opt("readOnlyHint", boolean),
		opt("destructiveHint", boolean),
		opt("idempotentHint", boolean),
		opt("openWorldHint", boolean),
	)).since(spec.V20250326),
	opt("execution", object("ToolExecution",
		opt("taskSupport", enum("forbidden", "optional", "required")),
	)).ofTasks(),
	meta,
)

var prompt = object("Prompt",
	nameMembers, icons,
	opt("description", text),
	opt("arguments", list(object("PromptArgument",
		nameMembers,
		opt("description", text),
		opt("required", boolean),
	))),
	meta,
)

var listChanged = opt("listChanged", boolean)

var serverCapabilities = object("ServerCapabilities",
	opt("experimental", mapOf(record)),
	opt("logging", record),
	opt("completions", record).since(spec.V20250326),
	opt("prompts", object("", listChanged)),
	opt("resources", object("", opt("subscribe", boolean), listChanged)),
	opt("tools", object("", listChanged)),
	opt("tasks", object("",
		opt("list", record),
		opt("cancel", record),
		opt("requests", object("", opt("tools", object("", opt("call", record))))),
	)).ofTasks(),
	opt("extensions", mapOf(record)).since(spec.V20260728),
)

// clientCapabilities only occurs in errors of 2026-07-28, so it has the form of that
// revision.
var clientCapabilities = object("ClientCapabilities",
	opt("experimental", mapOf(record)),
	opt("roots", record),
	opt("sampling", object("", opt("context", record), opt("tools", record))),
	opt("elicitation", object("", opt("form", record), opt("url", record))),
	opt("extensions", mapOf(record)),
)
