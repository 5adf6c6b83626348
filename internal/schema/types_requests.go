package schema

import "github.com/mcp-conform/mcp-conform/internal/spec"

// The types of the requests that a server sends to its client: as requests, or
// since 2026-07-28 inside results that require input.

var titleMembers = with(opt("title", text), opt("description", text))

// defaultMember returns the default member, which most form fields have since 2025-11-25.
func defaultMember(t *schemaType) member { return opt("default", t).since(spec.V20251125) }

var titledChoices = list(object("", req("const", text), req("title", text)))

// field is one field of a form: a restricted JSON Schema.
var field = tagged("type",
	when("string", object("StringSchema", titleMembers, defaultMember(text)).shaped(
		shape("EnumSchema", req("enum", list(text))),
		shape("TitledSingleSelectEnumSchema", req("oneOf", titledChoices)).since(spec.V20251125),
		shape("StringSchema",
			opt("minLength", integer),
			opt("maxLength", integer),
			opt("format", enum("email", "uri", "date", "date-time")),
		),
	)),
	when("number", numberField),
	when("integer", numberField),
	when("boolean", object("BooleanSchema", titleMembers, opt("default", boolean))),
	when("array", object("MultiSelectEnumSchema", titleMembers,
		opt("minItems", integer),
		opt("maxItems", integer),
		defaultMember(list(text)),
		req("items", record.shaped(
			shape("", req("enum", list(text)), req("type", enum("string"))),
			shape("", req("anyOf", titledChoices)),
		)),
	)).since(spec.V20251125),
)

var numberField = object("NumberSchema", titleMembers,
	opt("minimum", number),
	opt("maximum", number),
	defaultMember(number),
)

// taskMember is the member that requests delivery of the response through a task.
var taskMember = opt("task", object("TaskMetadata", opt("ttl", integer))).ofTasks()

var elicitParams = tagged("mode",
	when("form", formParams),
	when("url", object("ElicitRequestURLParams", urlMembers)),
).orUntagged(formParams)

var urlMembers = with(
	requestMeta, taskMember,
	req("message", text.also(notBlank)),
	req("url", uriText),
	req("elicitationId", text).until(spec.V20251125),
)

// elicitURLParams is the type of the elicitations in an error.
var elicitURLParams = object("ElicitRequestURLParams", req("mode", enum("url")), urlMembers)

var formParams = object("ElicitRequestFormParams",
	requestMeta, taskMember,
	req("message", text.also(notBlank)),
	req("requestedSchema", object("",
		opt("$schema", text).since(spec.V20251125),
		req("type", enum("object")),
		req("properties", mapOf(field)),
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
	opt("includeContext", enum("none", "thisServer", "allServers")),
	opt("temperature", number),
	req("maxTokens", integer),
	opt("stopSequences", list(text)),
	opt("metadata", record),
	opt("tools", list(tool)).since(spec.V20251125),
	opt("toolChoice", object("ToolChoice",
		opt("mode", enum("auto", "required", "none")),
	)).since(spec.V20251125),
)
