package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// promptShapeFaults returns the faults in the shape of prompts/list.
func promptShapeFaults() []*Fault {
	const list, prompts = "prompts.list.result-schema/", spec.MethodPromptsList
	arguments := func(e edit) *refserver.Seams { return editListItems(prompts, editItems("arguments", e)) }
	return []*Fault{
		newFault(list+"no-prompts", "the list of prompts lacks the member prompts", EditResult(prompts, omitMembers("prompts"))),
		newFault(list+"prompts-null", "the list of prompts is null", EditResult(prompts, setValue("prompts", nil))),
		newFault(list+"prompts-object", "the list of prompts is an object keyed by name", EditResult(prompts, setValue("prompts", rawJSON(`{"hello":{}}`)))),
		newFault(list+"no-name", "prompts have no name", editListItems(prompts, omitMembers("name"))),
		newFault(list+"name-null", "the names of prompts are null", editListItems(prompts, setValue("name", nil))),
		newFault(list+"description-null", "the descriptions of prompts are null", editListItems(prompts, setValue("description", nil))),
		newFault(list+"arguments-null", "the arguments of prompts are null", editListItems(prompts, setValue("arguments", nil))),
		newFault(list+"arguments-schema", "the arguments of prompts are a JSON Schema", editListItems(prompts, setValue("arguments", rawJSON(`{"type":"object","properties":{"name":{"type":"string"}}}`)))),
		newFault(list+"arguments-names", "the arguments of prompts are names", editListItems(prompts, setValue("arguments", []any{"name", "style"}))),
		newFault(list+"argument-no-name", "the arguments of prompts have no name", arguments(omitMembers("name"))),
		newFault(list+"argument-required-text", "required of an argument is a string", arguments(setValue("required", "true"))),
		newFault(list+"argument-required-null", "required of an argument is null", arguments(setValue("required", nil))),
		newFault(list+"title-object", "the titles of prompts are objects of translations", editListItems(prompts, setValue("title", map[string]any{"en": "Hello"}))).inRevisions(sinceRevision(spec.V20250618)...),
		newFault(list+"meta-text", "the _meta of prompts is a string", editListItems(prompts, setValue("_meta", "x"))).inRevisions(sinceRevision(spec.V20250618)...),
	}
}

// promptGetShapeFaults returns the faults in the shape of results of prompts/get.
func promptGetShapeFaults() []*Fault {
	const get, prompt = "prompts.get.result-schema/", spec.MethodPromptsGet
	messages := func(e edit) *refserver.Seams { return EditResult(prompt, editItems("messages", e)) }
	return []*Fault{
		newFault(get+"no-messages", "prompts have no messages", EditResult(prompt, omitMembers("messages"))),
		newFault(get+"messages-null", "the messages of prompts are null", EditResult(prompt, setValue("messages", nil))),
		newFault(get+"messages-text", "the messages of prompts are one string", EditResult(prompt, setValue("messages", "Say hello."))),
		newFault(get+"content-array", "the content of messages is an array", messages(setValue("content", rawJSON(`[{"type":"text","text":"Say hello."}]`)))),
		newFault(get+"content-text", "the content of messages is a string", messages(setValue("content", "Say hello."))),
		newFault(get+"no-content", "messages have no content", messages(omitMembers("content"))),
		newFault(get+"role-system", "messages have the role system", messages(setValue("role", "system"))),
		newFault(get+"no-role", "messages have no role", messages(omitMembers("role"))),
		newFault(get+"description-null", "the description of prompts is null", EditResult(prompt, setValue("description", nil))),
		newFault(get+"text-missing", "text in prompts has no text", editPromptBlocks("text", renameMember("text", "content"))),
		newFault(get+"image-without-type", "images in prompts have no MIME type", editPromptBlocks("image", omitMembers("mimeType"))),
		newFault(get+"image-snake-case", "images in prompts have a mime_type", editPromptBlocks("image", renameMember("mimeType", "mime_type"))),
		newFault(get+"resource-flat", "resources embedded in prompts have their members in the block itself", editPromptBlocks("resource", replaceObject(`{"type":"resource","uri":"demo://text/hello","mimeType":"text/plain","text":"Hello, world."}`))),
		newFault(get+"link-without-name", "links in prompts have no name", editPromptBlocks("resource_link", omitMembers("name"))).inRevisions(sinceRevision(spec.V20250618)...),
	}
}
