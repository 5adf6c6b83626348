package schema

import "github.com/mcp-conform/mcp-conform/internal/spec"

// The types of the requests that a server sends to its client: as requests, or
// since 2026-07-28 inside results that require input.

var titled = with(opt("title", text), opt("description", text))

// defaults returns the default member, which most form fields have since 2025-11-25.
func defaults(t *typ) member { return opt("default", t).since(spec.V20251125) }

var titledWords = list(object("", req("const", text), req("title", text)))

// field is one field of a form: a restricted JSON Schema.
var field = tagged("type",
	when("string", object("StringSchema", titled, defaults(text)).shaped(
		shape("EnumSchema", req("enum", list(text))),
		shape("TitledSingleSelectEnumSchema", req("oneOf", titledWords)).since(spec.V20251125),
		shape("StringSchema",
			opt("minLength", integer),
			opt("maxLength", integer),
			opt("format", words("email", "uri", "date", "date-time")),
		),
	)),
	when("number", numberField),
	when("integer", numberField),
	when("boolean", object("BooleanSchema", titled, opt("default", boolean))),
	when("array", object("MultiSelectEnumSchema", titled,
		opt("minItems", integer),
		opt("maxItems", integer),
		defaults(list(text)),
		req("items", record.shaped(
			shape("", req("enum", list(text)), req("type", words("string"))),
			shape("", req("anyOf", titledWords)),
		)),
	)).since(spec.V20251125),
)

var numberField = object("NumberSchema", titled,
	opt("minimum", number),
	opt("maximum", number),
	defaults(number),
)

// taskMember is the member that requests delivery of the response through a task.
var taskMember = opt("task", object("TaskMetadata", opt("ttl", integer))).ofTasks()

var elicitParams = tagged("mode",
	when("form", formParams),
	when("url", object("ElicitRequestURLParams", urlMembers)),
).orWithout(formParams)

var urlMembers = with(
	requestMeta, taskMember,
	req("message", text.also(saysMore)),
	req("url", uriText),
	req("elicitationId", text).until(spec.V20251125),
)

// elicitURLParams is used in errors, where no mode member has selected the type.
var elicitURLParams = object("ElicitRequestURLParams", req("mode", words("url")), urlMembers)

var formParams = object("ElicitRequestFormParams",
	requestMeta, taskMember,
	req("message", text.also(saysMore)),
	req("requestedSchema", object("",
		opt("$schema", text).since(spec.V20251125),
		req("type", words("object")),
		req("properties", table(field)),
		opt("required", list(text)),
	).also(jsonSchema)),
)

var samplingParams = object("CreateMessageRequestParams",
	requestMeta, taskMember,
	req("messages", list(object("SamplingMessage", samplingMembers))),
	opt("modelPreferences", object("ModelPreferences",
		opt("hints", list(object("ModelHint", opt("name", text)))),
		opt("costPriority", fraction),
		opt("speedPriority", fraction),
		opt("intelligencePriority", fraction),
	)),
	opt("systemPrompt", text),
	opt("includeContext", words("none", "thisServer", "allServers")),
	opt("temperature", number),
	req("maxTokens", integer),
	opt("stopSequences", list(text)),
	opt("metadata", record),
	opt("tools", list(tool)).since(spec.V20251125),
	opt("toolChoice", object("ToolChoice",
		opt("mode", words("auto", "required", "none")),
	)).since(spec.V20251125),
)
