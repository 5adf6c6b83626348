package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// sendSampling sends a sampling request with edited params.
func sendSampling(e edit) *refserver.Seams {
	params := decodeObject(samplingParams)
	e(params)
	return requestOnInitialized(spec.MethodSampling, params)
}

// sendSamplingContent sends a sampling request with one message; text is its content as raw
// JSON.
func sendSamplingContent(text string) *refserver.Seams {
	return sendSampling(editItems("messages", setValue("content", rawJSON(text))))
}

func samplingShapeFaults() []*Fault {
	const request, role, media = "sampling.request.schema/", "sampling.message.role/", "sampling.message.media-base64/"
	const image, audio = `{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}`, `{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"}`
	const resource, link = `{"type":"resource","resource":{"uri":"demo://text/hello","text":"Hello, world."}}`, `{"type":"resource_link","uri":"demo://text/hello","name":"hello"}`
	const oldest, middle, newest = "sampling.message.content-types-2024-11-05/", "sampling.message.content-types-2025-03-26/", "sampling.message.content-types-2025-11-25/"
	tool := func(text string) *refserver.Seams { return sendSampling(setValue("tools", rawJSON(`[`+text+`]`))) }
	return []*Fault{
		newFault(request+"no-max-tokens", "sampling has no maxTokens", sendSampling(omitMembers("maxTokens"))),
		newFault(request+"snake-case", "sampling has max_tokens instead of maxTokens", sendSampling(renameMember("maxTokens", "max_tokens"))),
		newFault(request+"max-tokens-text", "the maxTokens of sampling is a string", sendSampling(setValue("maxTokens", "100"))),
		newFault(request+"max-tokens-null", "the maxTokens of sampling is null", sendSampling(setValue("maxTokens", nil))),
		newFault(request+"no-messages", "sampling has no messages", sendSampling(omitMembers("messages"))),
		newFault(request+"prompt", "sampling has a prompt instead of messages", sendSampling(renameMember("messages", "prompt"))),
		newFault(request+"no-params", "sampling has no params", requestOnInitialized(spec.MethodSampling, nil)),
		newFault(request+"temperature-text", "the temperature of sampling is a string", sendSampling(setValue("temperature", "0.5"))),
		newFault(request+"context-all", "sampling has includeContext all", sendSampling(setValue("includeContext", "all"))),
		newFault(request+"stop-text", "the stopSequences of sampling are a string", sendSampling(setValue("stopSequences", "\n"))),
		newFault(request+"system-prompt-null", "the systemPrompt of sampling is null", sendSampling(setValue("systemPrompt", nil))),
		newFault(request+"hints-names", "the hints of sampling are strings", sendSampling(editMember("modelPreferences", setValue("hints", []any{"small"})))),
		newFault(request+"metadata-text", "the metadata of sampling is a string", sendSampling(setValue("metadata", "x"))),
		newFault(request+"tools-object", "the tools of sampling are an object keyed by name", sendSampling(setValue("tools", rawJSON(`{"look":{"inputSchema":{"type":"object"}}}`)))).inRevisions(spec.V20251125),
		newFault(request+"tool-choice-word", "the toolChoice of sampling is a string", sendSampling(setValue("toolChoice", "auto"))).inRevisions(spec.V20251125),
		newFault(request+"tool-choice-any", "the toolChoice of sampling has the mode any", sendSampling(setValue("toolChoice", map[string]any{"mode": "any"}))).inRevisions(spec.V20251125),
		newFault("sampling.tools.definitions-valid/unknown-type", "a tool of sampling has a type that does not exist",
			tool(`{"name":"look","inputSchema":{"type":"object","properties":{"at":{"type":"text"}}}}`)),
		newFault("sampling.priorities.range/percent", "the cost priority of sampling is 80", sendSampling(editMember("modelPreferences", setValue("costPriority", 80)))),
		newFault("sampling.priorities.range/negative", "the speed priority of sampling is -1", sendSampling(editMember("modelPreferences", setValue("speedPriority", -1)))),
		newFault("sampling.priorities.range/above", "the intelligence priority of sampling is 1.1", sendSampling(editMember("modelPreferences", setValue("intelligencePriority", rawJSON("1.1"))))),

		newFault(role+"system", "a message of sampling has the role system", sendSampling(editItems("messages", setValue("role", "system")))),
		newFault(role+"missing", "a message of sampling has no role", sendSampling(editItems("messages", omitMembers("role")))),
		newFault(role+"no-content", "a message of sampling has no content", sendSampling(editItems("messages", omitMembers("content")))),
		newFault(oldest+"audio", "a sampling message contains audio, which a later revision introduced", sendSamplingContent(audio)),
		newFault(oldest+"array", "a sampling message has an array of blocks, which a later revision introduced", sendSamplingContent("["+image+"]")),
		newFault(oldest+"resource", "a message of sampling is an embedded resource", sendSamplingContent(resource)),
		newFault(oldest+"text", "a message of sampling is a string", sendSamplingContent(`"Say a word."`)),
		newFault(middle+"array", "a sampling message has an array of blocks, which a later revision introduced", sendSamplingContent("["+image+","+audio+"]")),
		newFault(middle+"resource", "a message of sampling is an embedded resource", sendSamplingContent(resource)),
		newFault(middle+"link", "a message of sampling is a resource link", sendSamplingContent(link)),
		newFault(middle+"text", "a message of sampling is a string", sendSamplingContent(`"Say a word."`)),
		newFault(newest+"resource", "a message of sampling is an embedded resource", sendSamplingContent(resource)),
		newFault(newest+"link-in-array", "a message of sampling contains a resource link among other blocks", sendSamplingContent("["+image+","+link+"]")),
		newFault(newest+"text", "a message of sampling is a string", sendSamplingContent(`"Say a word."`)),
		newFault(newest+"texts", "the content of a sampling message is an array of strings", sendSamplingContent(`["Say a word."]`)),
		newFault(media+"data-uri", "an image for sampling is a data: URI", sendSamplingContent(`{"type":"image","data":"data:image/png;base64,iVBORw0KGgo=","mimeType":"image/png"}`)),
		newFault(media+"url-safe", "an image for sampling is in URL-safe base64", sendSamplingContent(`{"type":"image","data":"-_-_","mimeType":"image/png"}`)),
		newFault(media+"audio", "audio for sampling is a URL", sendSamplingContent(`{"type":"audio","data":"https://example.com/a.wav","mimeType":"audio/wav"}`)).inRevisions(sinceRevision(spec.V20250326)...),
	}
}

// sendSamplingToolResult sends a sampling request with messages in which the model has used a tool.
// The tool_result contains block, which is raw JSON.
func sendSamplingToolResult(block string) *refserver.Seams {
	return sendSampling(setValue("messages", rawJSON(`[{"role":"user","content":{"type":"text","text":"Look."}},
			{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"look","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[`+block+`]}]}]`)))
}

// samplingContentFaults returns the faults in the content of sampling requests.
func samplingContentFaults() []*Fault {
	const request = "sampling.request.schema/"
	return []*Fault{
		newFault(request+"result-video", "a tool_result for sampling contains a video", sendSamplingToolResult(`{"type":"video","data":"","mimeType":"video/mp4"}`)).inRevisions(spec.V20251125),
		newFault(request+"result-in-result", "a tool_result for sampling contains a tool_result", sendSamplingToolResult(`{"type":"tool_result","toolUseId":"1","content":[]}`)).inRevisions(spec.V20251125),
		newFault(request+"use-without-id", "a tool_use for sampling has no id", sendSamplingContent(`{"type":"tool_use","name":"look","input":{}}`)).inRevisions(spec.V20251125),
		newFault(request+"use-with-text", "a tool_use for sampling has JSON in a string as input", sendSamplingContent(`{"type":"tool_use","id":"1","name":"look","input":"{}"}`)).inRevisions(spec.V20251125),
		newFault(request+"result-without-id", "a tool_result for sampling has no toolUseId", sendSamplingContent(`{"type":"tool_result","content":[]}`)).inRevisions(spec.V20251125),
		newFault(request+"result-text", "the content of a tool_result for sampling is a string", sendSamplingContent(`{"type":"tool_result","toolUseId":"1","content":"x"}`)).inRevisions(spec.V20251125),
		newFault(request+"text-null", "text for sampling is null", sendSamplingContent(`{"type":"text","text":null}`)),
	}
}
