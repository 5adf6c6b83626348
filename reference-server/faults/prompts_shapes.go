package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// promptShapeFaults are the faults in the list of prompts.
func promptShapeFaults() []Fault {
	const list, prompts = "prompts.list.result-schema/", spec.MethodPromptsList
	arguments := func(e edit) refserver.Seams { return listed(prompts, inEach("arguments", e)) }
	return []Fault{
		breaks(list+"no-prompts", "the list of prompts lacks the member prompts", EditResult(prompts, leaveOut("prompts"))),
		breaks(list+"prompts-null", "the list of prompts is null", EditResult(prompts, put("prompts", nil))),
		breaks(list+"prompts-object", "the list of prompts is an object by name", EditResult(prompts, put("prompts", raw(`{"hello":{}}`)))),
		breaks(list+"no-name", "prompts have no name", listed(prompts, leaveOut("name"))),
		breaks(list+"name-null", "the names of prompts are null", listed(prompts, put("name", nil))),
		breaks(list+"description-null", "the descriptions of prompts are null", listed(prompts, put("description", nil))),
		breaks(list+"arguments-null", "the arguments of prompts are null", listed(prompts, put("arguments", nil))),
		breaks(list+"arguments-schema", "the arguments of prompts are a JSON Schema", listed(prompts, put("arguments", raw(`{"type":"object","properties":{"name":{"type":"string"}}}`)))),
		breaks(list+"arguments-names", "the arguments of prompts are names", listed(prompts, put("arguments", []any{"name", "style"}))),
		breaks(list+"argument-no-name", "the arguments of prompts have no name", arguments(leaveOut("name"))),
		breaks(list+"argument-required-text", "an argument says required as a string", arguments(put("required", "true"))),
		breaks(list+"argument-required-null", "an argument says required as null", arguments(put("required", nil))),
		breaks(list+"title-object", "the titles of prompts are objects by language", listed(prompts, put("title", map[string]any{"en": "Hello"}))).in(from(spec.V20250618)...),
		breaks(list+"meta-text", "the _meta of prompts is a string", listed(prompts, put("_meta", "x"))).in(from(spec.V20250618)...),
	}
}

// promptGetShapeFaults are the faults in the results of prompts/get.
func promptGetShapeFaults() []Fault {
	const get, prompt = "prompts.get.result-schema/", spec.MethodPromptsGet
	messages := func(e edit) refserver.Seams { return EditResult(prompt, inEach("messages", e)) }
	return []Fault{
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
