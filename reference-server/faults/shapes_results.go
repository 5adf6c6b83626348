package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// readShapeFaults are the faults in what reading resources and getting
// prompts gives.
func readShapeFaults() []Fault {
	const read, contents = "resources.read.result-schema/", spec.MethodResourcesRead
	const get, prompt = "prompts.get.result-schema/", spec.MethodPromptsGet
	blob := func(v any) refserver.Seams { return listed(contents, having("blob", put("blob", v))) }
	messages := func(e edit) refserver.Seams { return EditResult(prompt, inEach("messages", e)) }
	return []Fault{
		breaks(read+"no-contents", "what is read lacks the member contents", EditResult(contents, leaveOut("contents"))),
		breaks(read+"content", "what is read is called content", EditResult(contents, rename("contents", "content"))),
		breaks(read+"contents-null", "what is read is null", EditResult(contents, put("contents", nil))),
		breaks(read+"contents-text", "what is read is a string", EditResult(contents, put("contents", "Hello, world."))),
		breaks(read+"contents-object", "what is read is one object", EditResult(contents, put("contents", raw(`{"uri":"demo://text/hello","text":"Hello, world."}`)))),
		breaks(read+"no-uri", "what is read has no URI", listed(contents, leaveOut("uri"))),
		breaks(read+"neither", "what is read has neither text nor a blob", listed(contents, leaveOut("text", "blob"))),
		breaks(read+"blocks", "what is read is content blocks", listed(contents, becomes(`{"type":"text","content":"Hello, world."}`))),
		breaks(read+"text-null", "the text that is read is null", listed(contents, having("text", put("text", nil)))),
		breaks(read+"text-object", "JSON that is read is an object instead of text", listed(contents, having("text", put("text", map[string]any{"answer": 42})))),
		breaks(read+"blob-bytes", "the blob that is read is an array of bytes", blob([]any{137, 80, 78, 71})),
		breaks(read+"blob-buffer", "the blob that is read is a buffer of JavaScript", blob(raw(`{"type":"Buffer","data":[137,80,78,71]}`))),
		breaks("resources.read.text-or-blob/both", "what is read has text and a blob", listed(contents, having("text", put("blob", "SGVsbG8=")))),
		breaks("resources.read.text-or-blob/null-beside", "what is read has a blob and text that is empty", listed(contents, having("blob", put("text", "")))),
		breaks("resources.read.blob-base64/line-breaks", "the blob that is read has line breaks", blob("iVBORw0K\nGgo=\n")),
		breaks("resources.read.blob-base64/no-padding", "the blob that is read lacks its padding", blob("iVBORw0KGgo")),
		breaks("resources.read.blob-base64/data-uri", "the blob that is read is a data: URI", blob("data:image/png;base64,iVBORw0KGgo=")),
		breaks("resources.read.blob-base64/url-safe", "the blob that is read is in the base64 of URLs", blob("-_-_")),
		breaks("resources.read.blob-base64/text", "the blob that is read is plain text", blob("Hello, world.")),
		breaks("resources.read.blob-base64/bytes", "the blob that is read is bytes made characters", blob("\u0089PNG\r\n\u001a\n")),
		breaks("resources.read.blob-base64/truncated", "the blob that is read lacks its last bytes", blob("iVBORw0KGgoAA")),

		breaks(get+"no-messages", "prompts have no messages", EditResult(prompt, leaveOut("messages"))),
		breaks(get+"messages-null", "the messages of prompts are null", EditResult(prompt, put("messages", nil))),
		breaks(get+"messages-text", "the messages of prompts are one string", EditResult(prompt, put("messages", "Say hello."))),
		breaks(get+"content-array", "the content of messages is an array", messages(put("content", raw(`[{"type":"text","text":"Say hello."}]`)))),
		breaks(get+"content-text", "the content of messages is a string", messages(put("content", "Say hello."))),
		breaks(get+"no-content", "messages have no content", messages(leaveOut("content"))),
		breaks(get+"role-system", "messages have the role system", messages(put("role", "system"))),
		breaks(get+"no-role", "messages have no role", messages(leaveOut("role"))),
		breaks(get+"description-null", "the description of prompts is null", EditResult(prompt, put("description", nil))),
		breaks(get+"text-missing", "text in prompts has no text", inPrompts("text", rename("text", "content"))),
		breaks(get+"image-without-type", "images in prompts have no MIME type", inPrompts("image", leaveOut("mimeType"))),
		breaks(get+"image-snake-case", "images in prompts have a mime_type", inPrompts("image", rename("mimeType", "mime_type"))),
		breaks(get+"resource-flat", "resources embedded in prompts stand in the block itself", inPrompts("resource", becomes(`{"type":"resource","uri":"demo://text/hello","mimeType":"text/plain","text":"Hello, world."}`))),
		breaks(get+"link-without-name", "links in prompts have no name", inPrompts("resource_link", leaveOut("name"))).in(from(spec.V20250618)...),
	}
}

// callShapeFaults are the faults in the results of tools.
func callShapeFaults() []Fault {
	const call, tool = "tools.call.result-schema/", spec.MethodToolsCall
	callResult := func(name, title string, e edit) Fault {
		return breaks(call+name, title, EditResult(tool, e)).in(callable()...)
	}
	structured := func(id, title string, e edit) Fault { return breaks("tools.structured."+id, title, summed(e)) }
	return []Fault{
		callResult("no-content", "results of tools have no content", leaveOut("content")),
		callResult("content-null", "the content of results of tools is null", put("content", nil)),
		callResult("content-text", "the content of results of tools is a string", put("content", "Done.")),
		callResult("content-block", "the content of results of tools is one block", put("content", raw(`{"type":"text","text":"Done."}`))),
		callResult("content-texts", "the content of results of tools is strings", put("content", []any{"Done."})),
		callResult("tool-result", "results of tools are as in 2024-10-07", becomes(`{"toolResult":{"sum":3}}`)),
		callResult("is-error-text", "results of tools say isError as a string", put("isError", "false")),
		callResult("is-error-null", "results of tools say isError as null", put("isError", nil)),
		callResult("meta-null", "the _meta of results of tools is null", put("_meta", nil)),
		breaks(call+"structured-only", "results with structured content have no content", EditResult(tool, having("structuredContent", leaveOut("content")))).in(from(spec.V20250618)...),
		breaks(call+"text-null", "text from tools is null", inTools("text", put("text", nil))).in(callable()...),
		breaks(call+"text-object", "text from tools is an object", inTools("text", put("text", map[string]any{"sum": 3}))).in(callable()...),
		breaks(call+"text-number", "text from tools is a number", inTools("text", put("text", 3))).in(callable()...),
		breaks(call+"image-without-type", "images from tools have no MIME type", inTools("image", leaveOut("mimeType"))).in(callable()...),
		breaks(call+"image-without-data", "images from tools have a URL instead of data", inTools("image", rename("data", "url"))).in(callable()...),
		breaks(call+"resource-without-uri", "resources embedded by tools have no URI", inTools("resource", inside("resource", leaveOut("uri")))).in(callable()...),
		breaks(call+"resource-neither", "resources embedded by tools have neither text nor a blob", inTools("resource", inside("resource", leaveOut("text", "blob")))).in(callable()...),
		breaks(call+"link-without-name", "links from tools have no name", inTools("resource_link", leaveOut("name"))).in(from(spec.V20250618)...),

		structured("object-only-2025-06-18/array", "structured content is an array", put("structuredContent", []any{3})),
		structured("object-only-2025-06-18/text", "structured content is JSON in a string", put("structuredContent", `{"sum":3}`)),
		structured("object-only-2025-06-18/null", "structured content is null", put("structuredContent", nil)),
	}
}

// completionShapeFaults are the faults in completions.
func completionShapeFaults() []Fault {
	const shape, complete = "completion.result-schema/", spec.MethodComplete
	completion := func(e edit) refserver.Seams { return EditResult(complete, inside("completion", e)) }
	return []Fault{
		breaks(shape+"bare-values", "completions stand in the result itself", EditResult(complete, becomes(`{"values":["a"]}`))),
		breaks(shape+"array", "a completion is an array", EditResult(complete, put("completion", []any{"a"}))),
		breaks(shape+"no-values", "completions have no values", completion(leaveOut("values"))),
		breaks(shape+"values-null", "the values of completions are null", completion(put("values", nil))),
		breaks(shape+"values-objects", "the values of completions are objects", completion(put("values", raw(`[{"value":"a","label":"A"}]`)))),
		breaks(shape+"values-numbers", "the values of completions are numbers", completion(put("values", []any{1, 2}))),
		breaks(shape+"total-text", "the total of completions is a string", completion(put("total", "3"))),
		breaks(shape+"total-null", "the total of completions is null", completion(put("total", nil))),
		breaks(shape+"has-more-text", "completions say hasMore as a string", completion(put("hasMore", "no"))),
		breaks("completion.values.max-100/101", "completions hold 101 values", completed(101, 101, false)),
		breaks("completion.values.max-100/thousand", "completions hold a thousand values", completed(1000, 2000, true)),
	}
}
