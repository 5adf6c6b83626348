package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

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

// sampledUse asks for sampling with messages in which a model has used a tool, and
// got the block back.
func sampledUse(block string) refserver.Seams {
	return sampled(put("messages", raw(`[{"role":"user","content":{"type":"text","text":"Look."}},
			{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"look","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[`+block+`]}]}]`)))
}

// sampledContentFaults are the faults in content, where it is shown to a model.
func sampledContentFaults() []Fault {
	const request = "sampling.request.schema/"
	return []Fault{
		breaks(request+"result-video", "a tool's result for sampling is a video", sampledUse(`{"type":"video","data":"","mimeType":"video/mp4"}`)).in(spec.V20251125),
		breaks(request+"result-in-result", "a tool's result for sampling is a tool's result", sampledUse(`{"type":"tool_result","toolUseId":"1","content":[]}`)).in(spec.V20251125),
		breaks(request+"use-without-id", "a use of a tool for sampling has no id", sampledContent(`{"type":"tool_use","name":"look","input":{}}`)).in(spec.V20251125),
		breaks(request+"use-with-text", "a use of a tool for sampling has JSON in a string for its input", sampledContent(`{"type":"tool_use","id":"1","name":"look","input":"{}"}`)).in(spec.V20251125),
		breaks(request+"result-without-id", "a tool's result for sampling has no toolUseId", sampledContent(`{"type":"tool_result","content":[]}`)).in(spec.V20251125),
		breaks(request+"result-text", "the content of a tool's result for sampling is a string", sampledContent(`{"type":"tool_result","toolUseId":"1","content":"x"}`)).in(spec.V20251125),
		breaks(request+"text-null", "text for sampling is null", sampledContent(`{"type":"text","text":null}`)),
	}
}
