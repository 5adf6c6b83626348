package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// askingShapeFaults are the faults in what the server asks of its client. It
// asks unasked, so that no tool has to be called for them.
func askingShapeFaults() []Fault {
	asks := func(method, params string) refserver.Seams { return asksWhenReady(method, raw(params)) }
	const progress = "progress.server-token-type/"
	return append([]Fault{
		breaks("roots.request.schema/array", "the params of roots/list are an array", asks(spec.MethodRootsList, "[]")),
		breaks("roots.request.schema/meta-array", "the _meta of roots/list is an array", asks(spec.MethodRootsList, `{"_meta":[]}`)),
		breaks(progress+"fraction", "a request of its own has a fraction for its progress token", asks(spec.MethodRootsList, `{"_meta":{"progressToken":1.5}}`)),
		breaks(progress+"null", "a request of its own has the progress token null", asks(spec.MethodPing, `{"_meta":{"progressToken":null}}`)),
		breaks(progress+"object", "a request of its own has an object for its progress token", asks(spec.MethodPing, `{"_meta":{"progressToken":{"n":1}}}`)),
	}, samplingShapeFaults()...)
}

// sampled asks for sampling with params that have been edited.
func sampled(e edit) refserver.Seams {
	params := plain(samplingParams)
	e(params)
	return asksWhenReady(spec.MethodSampling, params)
}

// sampledContent asks for sampling with the content of its one message, raw JSON.
func sampledContent(text string) refserver.Seams {
	return sampled(inEach("messages", put("content", raw(text))))
}

func samplingShapeFaults() []Fault {
	const request, role, media = "sampling.request.schema/", "sampling.message.role/", "sampling.message.media-base64/"
	const image, audio = `{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}`, `{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"}`
	const resource, link = `{"type":"resource","resource":{"uri":"demo://text/hello","text":"Hello, world."}}`, `{"type":"resource_link","uri":"demo://text/hello","name":"hello"}`
	const oldest, middle, newest = "sampling.message.content-types-2024-11-05/", "sampling.message.content-types-2025-03-26/", "sampling.message.content-types-2025-11-25/"
	tool := func(text string) refserver.Seams { return sampled(put("tools", raw(`[`+text+`]`))) }
	return []Fault{
		breaks(request+"no-max-tokens", "sampling has no maxTokens", sampled(leaveOut("maxTokens"))),
		breaks(request+"snake-case", "sampling has max_tokens", sampled(rename("maxTokens", "max_tokens"))),
		breaks(request+"max-tokens-text", "the maxTokens of sampling is a string", sampled(put("maxTokens", "100"))),
		breaks(request+"max-tokens-null", "the maxTokens of sampling is null", sampled(put("maxTokens", nil))),
		breaks(request+"no-messages", "sampling has no messages", sampled(leaveOut("messages"))),
		breaks(request+"prompt", "sampling has a prompt instead of messages", sampled(rename("messages", "prompt"))),
		breaks(request+"no-params", "sampling has no params", asksWhenReady(spec.MethodSampling, nil)),
		breaks(request+"temperature-text", "the temperature of sampling is a string", sampled(put("temperature", "0.5"))),
		breaks(request+"context-all", "sampling wants to include the context all", sampled(put("includeContext", "all"))),
		breaks(request+"stop-text", "the stopSequences of sampling are a string", sampled(put("stopSequences", "\n"))),
		breaks(request+"system-prompt-null", "the systemPrompt of sampling is null", sampled(put("systemPrompt", nil))),
		breaks(request+"hints-names", "the hints of sampling are names", sampled(inside("modelPreferences", put("hints", []any{"small"})))),
		breaks(request+"metadata-text", "the metadata of sampling is a string", sampled(put("metadata", "x"))),
		breaks(request+"tools-object", "the tools of sampling are an object by name", sampled(put("tools", raw(`{"look":{"inputSchema":{"type":"object"}}}`)))).in(spec.V20251125),
		breaks(request+"tool-choice-word", "the toolChoice of sampling is a word", sampled(put("toolChoice", "auto"))).in(spec.V20251125),
		breaks(request+"tool-choice-any", "the toolChoice of sampling is any", sampled(put("toolChoice", map[string]any{"mode": "any"}))).in(spec.V20251125),
		breaks("sampling.tools.definitions-valid/unknown-type", "a tool of sampling has a type that does not exist",
			tool(`{"name":"look","inputSchema":{"type":"object","properties":{"at":{"type":"text"}}}}`)),
		breaks("sampling.priorities.range/percent", "the cost priority of sampling is 80", sampled(inside("modelPreferences", put("costPriority", 80)))),
		breaks("sampling.priorities.range/negative", "the speed priority of sampling is -1", sampled(inside("modelPreferences", put("speedPriority", -1)))),
		breaks("sampling.priorities.range/above", "the intelligence priority of sampling is 1.1", sampled(inside("modelPreferences", put("intelligencePriority", raw("1.1"))))),

		breaks(role+"system", "a message of sampling has the role system", sampled(inEach("messages", put("role", "system")))),
		breaks(role+"missing", "a message of sampling has no role", sampled(inEach("messages", leaveOut("role")))),
		breaks(role+"no-content", "a message of sampling has no content", sampled(inEach("messages", leaveOut("content")))),
		breaks(oldest+"audio", "a message of sampling is audio, which is newer", sampledContent(audio)),
		breaks(oldest+"array", "a message of sampling has several blocks, which is newer", sampledContent("["+image+"]")),
		breaks(oldest+"resource", "a message of sampling is an embedded resource", sampledContent(resource)),
		breaks(oldest+"text", "a message of sampling is a string", sampledContent(`"Say a word."`)),
		breaks(middle+"array", "a message of sampling has several blocks, which is newer", sampledContent("["+image+","+audio+"]")),
		breaks(middle+"resource", "a message of sampling is an embedded resource", sampledContent(resource)),
		breaks(middle+"link", "a message of sampling is a resource link", sampledContent(link)),
		breaks(middle+"text", "a message of sampling is a string", sampledContent(`"Say a word."`)),
		breaks(newest+"resource", "a message of sampling is an embedded resource", sampledContent(resource)),
		breaks(newest+"link-in-array", "a message of sampling holds a resource link among others", sampledContent("["+image+","+link+"]")),
		breaks(newest+"text", "a message of sampling is a string", sampledContent(`"Say a word."`)),
		breaks(newest+"texts", "a message of sampling is strings", sampledContent(`["Say a word."]`)),
		breaks(media+"data-uri", "an image for sampling is a data: URI", sampledContent(`{"type":"image","data":"data:image/png;base64,iVBORw0KGgo=","mimeType":"image/png"}`)),
		breaks(media+"url-safe", "an image for sampling is in the base64 of URLs", sampledContent(`{"type":"image","data":"-_-_","mimeType":"image/png"}`)),
		breaks(media+"audio", "audio for sampling is an address", sampledContent(`{"type":"audio","data":"https://example.com/a.wav","mimeType":"audio/wav"}`)).in(from(spec.V20250326)...),
	}
}

// sampledContentFaults are the faults in content, where it is shown to a model.
func sampledContentFaults() []Fault {
	// used are messages in which a model has used a tool, and got the block back.
	used := func(block string) refserver.Seams {
		return sampled(put("messages", raw(`[{"role":"user","content":{"type":"text","text":"Look."}},
			{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"look","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[`+block+`]}]}]`)))
	}
	const request = "sampling.request.schema/"
	return []Fault{
		breaks("content.image.mime-type-valid/sampled", "an image for sampling has the MIME type png", sampledContent(`{"type":"image","data":"iVBORw0KGgo=","mimeType":"png"}`)),
		breaks("content.audio.mime-type-valid/sampled", "audio for sampling has the MIME type of text", sampledContent(`{"type":"audio","data":"UklGRg==","mimeType":"text/plain"}`)),
		breaks("content.annotations.priority-range/sampled", "text for sampling has the priority 11", sampledContent(`{"type":"text","text":"x","annotations":{"priority":11}}`)),
		breaks("content.annotations.audience-values/sampled", "text for sampling is for the model, which is no role", sampledContent(`{"type":"text","text":"x","annotations":{"audience":["model"]}}`)),
		breaks("content.blob.base64/sampled", "a blob in a tool's result for sampling is plain text", used(`{"type":"resource","resource":{"uri":"demo://x","blob":"Hello, world."}}`)).in(spec.V20251125),
		breaks("content.embedded.uri-valid/sampled", "a resource in a tool's result for sampling has a path for a URI", used(`{"type":"resource","resource":{"uri":"/x","text":""}}`)).in(spec.V20251125),
		breaks("content.resource-link.uri-valid/sampled", "a link in a tool's result for sampling has no URI", used(`{"type":"resource_link","uri":"","name":"x"}`)).in(spec.V20251125),
		breaks(request+"result-video", "a tool's result for sampling is a video", used(`{"type":"video","data":"","mimeType":"video/mp4"}`)).in(spec.V20251125),
		breaks(request+"result-in-result", "a tool's result for sampling is a tool's result", used(`{"type":"tool_result","toolUseId":"1","content":[]}`)).in(spec.V20251125),
		breaks(request+"use-without-id", "a use of a tool for sampling has no id", sampledContent(`{"type":"tool_use","name":"look","input":{}}`)).in(spec.V20251125),
		breaks(request+"use-with-text", "a use of a tool for sampling has JSON in a string for its input", sampledContent(`{"type":"tool_use","id":"1","name":"look","input":"{}"}`)).in(spec.V20251125),
		breaks(request+"result-without-id", "a tool's result for sampling does not say of which use", sampledContent(`{"type":"tool_result","content":[]}`)).in(spec.V20251125),
		breaks(request+"result-text", "the content of a tool's result for sampling is a string", sampledContent(`{"type":"tool_result","toolUseId":"1","content":"x"}`)).in(spec.V20251125),
		breaks(request+"text-null", "text for sampling is null", sampledContent(`{"type":"text","text":null}`)),
	}
}

// asksForm asks by a form with one field, raw JSON.
func asksForm(field string) refserver.Seams {
	return asksWhenReady(spec.MethodElicit, raw(`{"message":"What is it?","requestedSchema":{"type":"object","properties":{"it":`+field+`}}}`))
}

// elicitationShapeFaults are the faults in what the server asks of the user.
func elicitationShapeFaults() []Fault {
	const request, flat, formats, page = "elicitation.request.schema/", "elicitation.form.flat-primitive-properties/", "elicitation.form.string-formats/", "elicitation.url."
	asks := func(params string) refserver.Seams { return asksWhenReady(spec.MethodElicit, raw(params)) }
	return []Fault{
		breaks(request+"no-message", "elicitation has no message", asks(`{"requestedSchema":{"type":"object","properties":{}}}`)),
		breaks(request+"message-null", "the message of elicitation is null", asks(`{"message":null,"requestedSchema":{"type":"object","properties":{}}}`)),
		breaks(request+"no-schema", "elicitation has no requestedSchema", asks(`{"message":"What is it?"}`)),
		breaks(request+"schema-null", "the requestedSchema of elicitation is null", asks(`{"message":"What is it?","requestedSchema":null}`)),
		breaks(request+"schema-name", "elicitation has a schema instead of a requestedSchema", asks(`{"message":"What is it?","schema":{"type":"object","properties":{}}}`)),
		breaks(request+"no-params", "elicitation has no params", asksWhenReady(spec.MethodElicit, nil)),
		breaks(flat+"no-properties", "the requestedSchema of elicitation has no properties", asks(`{"message":"What is it?","requestedSchema":{"type":"object"}}`)),
		breaks(request+"required-true", "the member required of a form is true", asks(`{"message":"What is it?","requestedSchema":{"type":"object","properties":{},"required":true}}`)),
		breaks(request+"mode-page", "elicitation has the mode page", asks(`{"mode":"page","message":"What is it?","url":"https://example.com/","elicitationId":"1"}`)).in(spec.V20251125),
		breaks(request+"mode-null", "elicitation has the mode null", asks(`{"mode":null,"message":"What is it?","requestedSchema":{"type":"object","properties":{}}}`)).in(spec.V20251125),
		breaks(request+"url-without-url", "elicitation by URL has none", asks(`{"mode":"url","message":"Please look.","elicitationId":"1"}`)).in(spec.V20251125),
		breaks(request+"length-text", "the length of a field is a string", asksForm(`{"type":"string","maxLength":"80"}`)),
		breaks(request+"title-null", "the title of a field is null", asksForm(`{"type":"boolean","title":null}`)),
		breaks(request+"minimum-text", "the minimum of a field is a string", asksForm(`{"type":"number","minimum":"0"}`)),
		breaks(request+"default-text", "the default of a boolean field is a string", asksForm(`{"type":"boolean","default":"yes"}`)),

		breaks(flat+"nested", "a field of a form is an object", asksForm(`{"type":"object","properties":{"name":{"type":"string"}}}`)),
		breaks(flat+"array", "a field of a form is an array of numbers", asksForm(`{"type":"array","items":{"type":"number"}}`)),
		breaks(flat+"array-of-any", "a field of a form is an array of anything", asksForm(`{"type":"array"}`)),
		breaks(flat+"no-type", "a field of a form has no type", asksForm(`{"title":"It"}`)),
		breaks(flat+"types", "a field of a form has two types", asksForm(`{"type":["string","null"]}`)),
		breaks(flat+"null", "a field of a form is of the type null", asksForm(`{"type":"null"}`)),
		breaks(flat+"root-array", "a form is an array", asks(`{"message":"What is it?","requestedSchema":{"type":"array","items":{"type":"string"}}}`)),
		breaks(flat+"root-no-type", "a form has no type", asks(`{"message":"What is it?","requestedSchema":{"properties":{"it":{"type":"string"}}}}`)),
		breaks(formats+"uuid", "a field of a form has the format uuid", asksForm(`{"type":"string","format":"uuid"}`)),
		breaks(formats+"time", "a field of a form has the format time", asksForm(`{"type":"string","format":"time"}`)),
		breaks(formats+"url", "a field of a form has the format url", asksForm(`{"type":"string","format":"url"}`)),
		breaks("elicitation.form.schema-valid/negative-length", "a field of a form has a length below zero", asksForm(`{"type":"string","minLength":-1}`)),
		breaks("elicitation.form.schema-valid/pattern", "a field of a form has a number for a pattern", asksForm(`{"type":"string","pattern":5}`)),

		breaks(page+"valid/relative", "the URL of elicitation is relative", asks(`{"mode":"url","message":"Please look.","elicitationId":"1","url":"/visit"}`)),
		breaks(page+"valid/host", "the URL of elicitation has no scheme", asks(`{"mode":"url","message":"Please look.","elicitationId":"1","url":"example.com/visit"}`)),
		breaks(page+"valid/space", "the URL of elicitation has a space", asks(`{"mode":"url","message":"Please look.","elicitationId":"1","url":"https://example.com/my page"}`)),
		breaks(page+"valid/in-error", "the URL of an elicitation that -32042 lists is relative", requiresVisit(raw(`{"elicitations":[{"mode":"url","message":"Please look.","elicitationId":"1","url":"/visit"}]}`))),
		breaks(page+"id-present-2025-11-25/missing", "elicitation by URL has no elicitationId", asks(`{"mode":"url","message":"Please look.","url":"https://example.com/"}`)),
		breaks(page+"id-present-2025-11-25/number", "the elicitationId of elicitation by URL is a number", asks(`{"mode":"url","message":"Please look.","elicitationId":1,"url":"https://example.com/"}`)),
	}
}

// elicitationErrorFaults are the faults in the error by which a request says
// that an elicitation has to come first.
func elicitationErrorFaults() []Fault {
	const only, lists, mode = "elicitation.required-error.only-for-that-2025-11-25/", "elicitation.required-error.lists-elicitations-2025-11-25/",
		"elicitation.required-error.url-mode-with-id-2025-11-25/"
	one := func(elicitation string) refserver.Seams {
		return requiresVisit(raw(`{"elicitations":[` + elicitation + `]}`))
	}
	return []Fault{
		breaks(only+"no-data", "unknown methods get -32042 without data", requiresVisit(nil)),
		breaks(only+"text", "unknown methods get -32042 with a string", requiresVisit("not found")),
		breaks(only+"no-list", "-32042 comes with data that lists nothing", requiresVisit(raw(`{"url":"https://example.com/"}`))),
		breaks(lists+"object", "-32042 lists elicitations as an object", requiresVisit(raw(`{"elicitations":{"mode":"url"}}`))),
		breaks(mode+"form", "-32042 lists an elicitation by form", one(`{"mode":"form","message":"What is it?","requestedSchema":{"type":"object","properties":{}}}`)),
		breaks(mode+"no-mode", "-32042 lists an elicitation without a mode", one(`{"message":"Please look.","elicitationId":"1","url":"https://example.com/"}`)),
		breaks(mode+"no-id", "-32042 lists an elicitation without an id", one(`{"mode":"url","message":"Please look.","url":"https://example.com/"}`)),
		breaks(mode+"no-url", "-32042 lists an elicitation without a URL", one(`{"mode":"url","message":"Please look.","elicitationId":"1"}`)),
	}
}

// requiresVisit answers unknown methods by the error that says that a page
// has to be visited first.
func requiresVisit(data any) refserver.Seams {
	return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err == nil || err.Code != spec.CodeMethodNotFound {
			return result, err
		}
		return nil, &refserver.Error{Code: spec.CodeURLElicitation, Message: "A page has to be visited first", Data: data}
	})
}
