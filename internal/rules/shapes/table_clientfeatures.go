package shapes

import (
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// onlyForElicitation is the requirement that the code of errors that require an elicitation is used
// only for such errors. Every error counts as an observation of it, because the server could have
// misused the code in any error.
const onlyForElicitation = "elicitation.required-error.only-for-that-2025-11-25"

// serverRequestRows returns the rows of the server's requests, and of its notifications.
func serverRequestRows() []row {
	const (
		sampling, elicit = spec.MethodSampling, spec.MethodElicit
		form             = "ElicitRequestFormParams.requestedSchema"
		contentTypes     = "sampling.message.content-types-2024-11-05 sampling.message.content-types-2025-03-26 sampling.message.content-types-2025-11-25"
		required         = "elicitation.required-error."
	)
	return []row{
		{
			in: spec.MethodProgress, place: "ProgressNotification.message", kinds: kinds(schema.Blank), ids: "progress.message-useful",
			summary: "The server's progress message is empty.",
		},
		{
			in: elicit, place: "ElicitRequestFormParams.message ElicitRequestURLParams.message", kinds: kinds(schema.Blank), ids: "elicitation.message.explains",
			summary: "The server's elicitation message is empty.", weight: verdict.AtMostWarning, // the member is present
		},
		{
			in: sampling + " " + elicit + " " + spec.MethodRootsList + " " + spec.MethodPing, place: "RequestMeta.progressToken", ids: "progress.server-token-type",
			summary: "The server's progressToken is not a string or an integer.",
		},

		{
			in: sampling, place: "SamplingMessage.content", kinds: kinds(schema.Missing), ids: "sampling.message.role", when: isMemberItself, observedAt: "SamplingMessage",
			summary: "The server's sampling message has no content.",
		},
		{in: sampling, place: "SamplingMessage.role", ids: "sampling.message.role", observedAt: "SamplingMessage", summary: "The server's sampling message has no role.", ifPresent: "The server's sampling message has a role that is not user or assistant."},
		{
			in: sampling, place: "SamplingMessage.content", kinds: kinds(schema.WrongType), ids: contentTypes, when: isArray,
			summary: "The server's sampling message has an array as content.", permitted: "one content object; arrays exist from 2025-11-25 on",
			fix: "Send one content object in each message; split an array over several messages.",
		},
		{
			in: sampling, place: "SamplingMessage.content", ids: contentTypes,
			summary: "The server's sampling message has content that the revision does not define.",
		},
		{
			in: sampling, place: "ModelPreferences.costPriority ModelPreferences.speedPriority ModelPreferences.intelligencePriority", ids: "sampling.priorities.range",
			summary: "The server's model priority is not a number from 0 to 1.",
		},
		{
			in: sampling, place: "Tool.inputSchema Tool.outputSchema", kinds: kinds(schema.NotDialect), ids: "sampling.tools.definitions-valid", observedAt: "Tool",
			summary: "The server's sampling request has a tool with an invalid schema.",
		},

		{
			in: elicit, place: form + ".type " + form + ".properties MultiSelectEnumSchema.items", ids: "elicitation.form.flat-primitive-properties",
			observedAt: "ElicitRequestFormParams.requestedSchema", summary: "The server's form schema is not a flat object of primitive properties.",
		},
		{
			in: elicit, place: form, kinds: kinds(schema.NotDialect), ids: "elicitation.form.schema-valid",
			summary: "The server's form schema is not valid JSON Schema.",
		},
		{
			in: elicit, place: "StringSchema.format", kinds: kinds(schema.WrongWord), ids: "elicitation.form.string-formats",
			summary: "The server's form schema has a string format that forms do not have.",
		},
		{
			in: elicit, place: "ElicitRequestURLParams.url", kinds: kinds(schema.NotURI), ids: "elicitation.url.valid",
			summary: "The server's elicitation has an invalid url.",
		},
		{
			in: elicit, place: "ElicitRequestURLParams.elicitationId", ids: "elicitation.url.id-present-2025-11-25", observedAt: "ElicitRequestURLParams",
			summary:   "The server's URL elicitation has no elicitationId.",
			ifPresent: "The server's URL elicitation has an elicitationId that is not a string.",
		},
		{
			in: spec.MethodElicitDone, place: "ElicitationCompleteNotification.elicitationId params", ids: "elicitation.complete.known-id-2025-11-25",
			summary:   "The server's elicitation/complete has no elicitationId.",
			ifPresent: "The server's elicitation/complete has an elicitationId that is not a string.",
		},

		{
			in: errorTopic, place: "URLElicitationRequiredError.data", ids: onlyForElicitation, when: isDataItself, observedAt: "URLElicitationRequiredError",
			summary:   "The server's error -32042 (visit a URL first) has no data.elicitations.",
			ifPresent: "The server's error -32042 (visit a URL first) has data that is not an object.",
		},
		{
			in: errorTopic, place: "URLElicitationRequiredError.data.elicitations", ids: required + "lists-elicitations-2025-11-25", when: isListItself,
			observedAt: "URLElicitationRequiredError.data", summary: "The server's error -32042 has elicitations that are not an array.",
		},
		{
			in: errorTopic, place: "URLElicitationRequiredError.data.elicitations ElicitRequestURLParams", ids: required + "url-mode-with-id-2025-11-25",
			observedAt: "ElicitRequestURLParams", summary: "The server's error -32042 has an invalid URL elicitation.",
		},
		{
			in: errorTopic, place: "ElicitRequestURLParams.url", kinds: kinds(schema.NotURI), ids: "elicitation.url.valid",
			summary: "The server's elicitation has an invalid url.",
		},
	}
}

// isMemberItself reports whether the content member of a sampling message itself is wrong, rather
// than a value in it.
func isMemberItself(v schema.Violation) bool { return v.Place == "SamplingMessage.content" }

// isDataItself reports whether the error's data is wrong as a whole, or lacks the member
// elicitations.
func isDataItself(v schema.Violation) bool {
	return v.Place == "URLElicitationRequiredError.data" || v.Place == "URLElicitationRequiredError.data.elicitations" && v.Kind == schema.Missing
}

// isArray reports whether the value of the content member is an array.
func isArray(v schema.Violation) bool { return isMemberItself(v) && strings.HasPrefix(v.Seen, "[") }

func isListItself(v schema.Violation) bool {
	return v.Place == "URLElicitationRequiredError.data.elicitations"
}
