package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// sampled sends a sampling request with edited params.
func sampled(e edit) *refserver.Seams {
	params := decodeObject(samplingParams)
	e(params)
	return requestOnInitialized(spec.MethodSampling, params)
}

// sampledContent sends a sampling request with one message; text is its content as raw
// JSON.
func sampledContent(text string) *refserver.Seams {
	return sampled(inItems("messages", setValue("content", rawJSON(text))))
}

func samplingShapeFaults() []*Fault {
	const request, role, media = "sampling.request.schema/", "sampling.message.role/", "sampling.message.media-base64/"
	const image, audio = `{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}`, `{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"}`
	const resource, link = `{"type":"resource","resource":{"uri":"demo://text/hello","text":"Hello, world."}}`, `{"type":"resource_link","uri":"demo://text/hello","name":"hello"}`
	const oldest, middle, newest = "sampling.message.content-types-2024-11-05/", "sampling.message.content-types-2025-03-26/", "sampling.message.content-types-2025-11-25/"
	tool := func(text string) *refserver.Seams { return sampled(setValue("tools", rawJSON(`[`+text+`]`))) }
	return []*Fault{
		newFault(request+"no-max-tokens", "sampling has no maxTokens", sampled(omit("maxTokens"))),
		newFault(request+"snake-case", "sampling has max_tokens instead of maxTokens", sampled(renameMember("maxTokens", "max_tokens"))),
		newFault(request+"max-tokens-text", "the maxTokens of sampling is a string", sampled(setValue("maxTokens", "100"))),
		newFault(request+"max-tokens-null", "the maxTokens of sampling is null", sampled(setValue("maxTokens", nil))),
		newFault(request+"no-messages", "sampling has no messages", sampled(omit("messages"))),
		newFault(request+"prompt", "sampling has a prompt instead of messages", sampled(renameMember("messages", "prompt"))),
		newFault(request+"no-params", "sampling has no params", requestOnInitialized(spec.MethodSampling, nil)),
		newFault(request+"temperature-text", "the temperature of sampling is a string", sampled(setValue("temperature", "0.5"))),
		newFault(request+"context-all", "sampling has includeContext all", sampled(setValue("includeContext", "all"))),
		newFault(request+"stop-text", "the stopSequences of sampling are a string", sampled(setValue("stopSequences", "\n"))),
		newFault(request+"system-prompt-null", "the systemPrompt of sampling is null", sampled(setValue("systemPrompt", nil))),
		newFault(request+"hints-names", "the hints of sampling are strings", sampled(inMember("modelPreferences", setValue("hints", []any{"small"})))),
		newFault(request+"metadata-text", "the metadata of sampling is a string", sampled(setValue("metadata", "x"))),
		newFault(request+"tools-object", "the tools of sampling are an object keyed by name", sampled(setValue("tools", rawJSON(`{"look":{"inputSchema":{"type":"object"}}}`)))).inRevisions(spec.V20251125),
		newFault(request+"tool-choice-word", "the toolChoice of sampling is a string", sampled(setValue("toolChoice", "auto"))).inRevisions(spec.V20251125),
		newFault(request+"tool-choice-any", "the toolChoice of sampling has the mode any", sampled(setValue("toolChoice", map[string]any{"mode": "any"}))).inRevisions(spec.V20251125),
		newFault("sampling.tools.definitions-valid/unknown-type", "a tool of sampling has a type that does not exist",
			tool(`{"name":"look","inputSchema":{"type":"object","properties":{"at":{"type":"text"}}}}`)),
		newFault("sampling.priorities.range/percent", "the cost priority of sampling is 80", sampled(inMember("modelPreferences", setValue("costPriority", 80)))),
		newFault("sampling.priorities.range/negative", "the speed priority of sampling is -1", sampled(inMember("modelPreferences", setValue("speedPriority", -1)))),
		newFault("sampling.priorities.range/above", "the intelligence priority of sampling is 1.1", sampled(inMember("modelPreferences", setValue("intelligencePriority", rawJSON("1.1"))))),

		newFault(role+"system", "a message of sampling has the role system", sampled(inItems("messages", setValue("role", "system")))),
		newFault(role+"missing", "a message of sampling has no role", sampled(inItems("messages", omit("role")))),
		newFault(role+"no-content", "a message of sampling has no content", sampled(inItems("messages", omit("content")))),
		newFault(oldest+"audio", "a sampling message contains audio, which a later revision introduced", sampledContent(audio)),
		newFault(oldest+"array", "a sampling message has several blocks, which a later revision introduced", sampledContent("["+image+"]")),
		newFault(oldest+"resource", "a message of sampling is an embedded resource", sampledContent(resource)),
		newFault(oldest+"text", "a message of sampling is a string", sampledContent(`"Say a word."`)),
		newFault(middle+"array", "a sampling message has several blocks, which a later revision introduced", sampledContent("["+image+","+audio+"]")),
		newFault(middle+"resource", "a message of sampling is an embedded resource", sampledContent(resource)),
		newFault(middle+"link", "a message of sampling is a resource link", sampledContent(link)),
		newFault(middle+"text", "a message of sampling is a string", sampledContent(`"Say a word."`)),
		newFault(newest+"resource", "a message of sampling is an embedded resource", sampledContent(resource)),
		newFault(newest+"link-in-array", "a message of sampling holds a resource link among others", sampledContent("["+image+","+link+"]")),
		newFault(newest+"text", "a message of sampling is a string", sampledContent(`"Say a word."`)),
		newFault(newest+"texts", "the content of a sampling message is an array of strings", sampledContent(`["Say a word."]`)),
		newFault(media+"data-uri", "an image for sampling is a data: URI", sampledContent(`{"type":"image","data":"data:image/png;base64,iVBORw0KGgo=","mimeType":"image/png"}`)),
		newFault(media+"url-safe", "an image for sampling is in URL-safe base64", sampledContent(`{"type":"image","data":"-_-_","mimeType":"image/png"}`)),
		newFault(media+"audio", "audio for sampling is a URL", sampledContent(`{"type":"audio","data":"https://example.com/a.wav","mimeType":"audio/wav"}`)).inRevisions(sinceRevision(spec.V20250326)...),
	}
}

// sampledUse sends a sampling request with messages in which the model has used a tool.
// The tool_result contains block, which is raw JSON.
func sampledUse(block string) *refserver.Seams {
	return sampled(setValue("messages", rawJSON(`[{"role":"user","content":{"type":"text","text":"Look."}},
			{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"look","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[`+block+`]}]}]`)))
}

// sampledContentFaults returns the faults in the content of sampling requests.
func sampledContentFaults() []*Fault {
	const request = "sampling.request.schema/"
	return []*Fault{
		newFault(request+"result-video", "a tool_result for sampling contains a video", sampledUse(`{"type":"video","data":"","mimeType":"video/mp4"}`)).inRevisions(spec.V20251125),
		newFault(request+"result-in-result", "a tool_result for sampling contains a tool_result", sampledUse(`{"type":"tool_result","toolUseId":"1","content":[]}`)).inRevisions(spec.V20251125),
		newFault(request+"use-without-id", "a tool_use for sampling has no id", sampledContent(`{"type":"tool_use","name":"look","input":{}}`)).inRevisions(spec.V20251125),
		newFault(request+"use-with-text", "a tool_use for sampling has JSON in a string as input", sampledContent(`{"type":"tool_use","id":"1","name":"look","input":"{}"}`)).inRevisions(spec.V20251125),
		newFault(request+"result-without-id", "a tool_result for sampling has no toolUseId", sampledContent(`{"type":"tool_result","content":[]}`)).inRevisions(spec.V20251125),
		newFault(request+"result-text", "the content of a tool_result for sampling is a string", sampledContent(`{"type":"tool_result","toolUseId":"1","content":"x"}`)).inRevisions(spec.V20251125),
		newFault(request+"text-null", "text for sampling is null", sampledContent(`{"type":"text","text":null}`)),
	}
}
