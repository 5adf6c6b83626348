package faults

import (
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func samplingFaults() []*Fault {
	const older, newer = "sampling.requires-client-capability-2024-11-05/", "sampling.requires-client-capability-2025-06-18/"
	const undeclaredContext, avoid = "sampling.include-context.requires-capability/", "sampling.include-context.avoid/"
	const tools, choice = "sampling.tools.requires-capability/", "sampling.tool-choice.requires-capability/"
	undeclared := doesNotDeclare("sampling")
	unprompted := requestIf(undeclared, spec.MethodSampling, samplingParams)
	plainSampling := allOf(declares("sampling"), doesNotDeclare("sampling", "tools"))
	withContext := func(value string, when func(s *refserver.Session) bool) *refserver.Seams {
		return requestIf(when, spec.MethodSampling, samplingParamsWith("includeContext", value))
	}
	return []*Fault{
		newFault(older+"unprompted", "the server sends sampling/createMessage without the client's capability", unprompted),
		newFault(older+"by-tool", "a tool sends sampling/createMessage without the client's capability",
			sendFromTool("echo", undeclared, spec.MethodSampling, samplingParams)).inRevisions(spec.V20250326),
		newFault(newer+"unprompted", "the server sends sampling/createMessage without the client's capability", unprompted),
		newFault(newer+"by-tool", "a tool sends sampling/createMessage without the client's capability",
			sendFromTool("ask-sampling", undeclared, spec.MethodSampling, samplingParams)),

		newFault(tools+"unprompted", "sampling has tools without the client's capability sampling.tools",
			requestIf(plainSampling, spec.MethodSampling, samplingParamsWith("tools", rawJSON(weatherTools)))),
		newFault(tools+"by-tool", "a tool sends sampling with tools without the client's capability sampling.tools",
			sendFromTool("ask-sampling-tools", plainSampling, spec.MethodSampling, samplingParamsWith("tools", rawJSON(weatherTools)))),
		newFault(choice+"none", "sampling has toolChoice none without the client's capability sampling.tools",
			requestIf(plainSampling, spec.MethodSampling, samplingParamsWith("toolChoice", rawJSON(`{"mode":"none"}`)))),
		newFault(undeclaredContext+"all-servers", "sampling requests the context allServers without the client's capability",
			withContext("allServers", allOf(declares("sampling"), doesNotDeclare("sampling", "context")))),
		newFault(undeclaredContext+"this-server", "sampling requests the context thisServer without the client's capability",
			withContext("thisServer", allOf(declares("sampling"), doesNotDeclare("sampling", "context")))),
		newFault(avoid+"all-servers", "sampling requests the context allServers with the client's capability", withContext("allServers", declares("sampling", "context"))),
		newFault(avoid+"by-tool", "every sampling request of a tool requests the context thisServer", editSentParams(spec.MethodSampling, setValue("includeContext", "thisServer"))),
	}
}

// weatherTools is the value of the member tools in a sampling request, as raw JSON.
const weatherTools = `[{"name":"weather","inputSchema":{"type":"object"}}]`

// samplingParamsWith returns the params of a sampling request with one additional member.
func samplingParamsWith(name string, value any) map[string]any {
	return withMember(decodeObject(samplingParams), name, value)
}

// toolLoopFaults returns the faults of a server that lets a model use tools.
func toolLoopFaults() []*Fault {
	const alone, answered, matches, reply, roles = "sampling.tool-result.alone/", "sampling.tool-use.answered/", "sampling.tool-result.matches-id/",
		"sampling.tool-use.reply-to-stop-reason/", "sampling.tool-use.roles/"
	text := map[string]any{"type": "text", "text": "Here they are:"}
	return []*Fault{
		newFault(alone+"text-first", "a message with tool results begins with text", editMessagesWithBlock("tool_result", func(m map[string]any) {
			m["content"] = append([]any{text}, m["content"].([]any)...)
		})),
		newFault(alone+"text-last", "a message with tool results ends with text", editMessagesWithBlock("tool_result", func(m map[string]any) {
			m["content"] = append(m["content"].([]any), text)
		})),
		newFault(roles+"results-from-the-assistant", "tool results are in messages of the assistant", editMessagesWithBlock("tool_result", setValue("role", "assistant"))),
		newFault(roles+"uses-from-the-user", "tool uses are in messages of the user", editMessagesWithBlock("tool_use", setValue("role", "user"))),
		newFault(answered+"last-one-missing", "the last of several tool results is missing", editMessagesWithBlock("tool_result", dropLastBlock)),
		newFault(answered+"message-between", "a message is between tool uses and their results", editMessages(func(messages []map[string]any) []map[string]any {
			var out []map[string]any
			for _, m := range messages {
				if hasBlock(m, "tool_result") {
					out = append(out, map[string]any{"role": "user", "content": text})
				}
				out = append(out, m)
			}
			return out
		})),
		newFault(answered+"no-results", "tool uses remain in the history without their results", editMessages(func(messages []map[string]any) []map[string]any {
			var out []map[string]any
			for _, m := range messages {
				if !hasBlock(m, "tool_result") {
					out = append(out, m)
				}
			}
			return out
		})),
		newFault(matches+"other-names", "tool results have other ids than their uses", editMessagesWithBlock("tool_result", func(m map[string]any) {
			for _, b := range objectsIn(m, "content") {
				b["toolUseId"] = "CALL-" + b["toolUseId"].(string)
			}
		})),
		newFault(matches+"last-one-by-name", "the last tool result has the tool's name as toolUseId", editMessagesWithBlock("tool_result", func(m map[string]any) {
			blocks := objectsIn(m, "content")
			blocks[len(blocks)-1]["toolUseId"] = "weather"
		})),
		newFault(reply+"one-left-out", "the last of several tool uses is missing, with its result", combineSeams(
			editMessagesWithBlock("tool_use", dropLastBlock), editMessagesWithBlock("tool_result", dropLastBlock))),
		newFault("sampling.tool-result.structured-conforms/text", "structured tool results have a string for a number", editMessagesWithBlock("tool_result", func(m map[string]any) {
			for _, b := range objectsIn(m, "content") {
				ifHas("structuredContent", setValue("structuredContent", map[string]any{"degrees": "21"}))(b)
			}
		})),
		newFault("sampling.tool-use.iteration-limit/endless", "the server never ends the model's tool loop", wrapTool("ask-sampling-tools", loopForEver)),
	}
}

// editMessages edits the messages of sampling requests.
func editMessages(edit func(messages []map[string]any) []map[string]any) *refserver.Seams {
	return editSentParams(spec.MethodSampling, func(p map[string]any) { p["messages"] = edit(objectsIn(p, "messages")) })
}

// editMessagesWithBlock edits the messages of sampling requests that contain blocks of a type.
func editMessagesWithBlock(kind string, e edit) *refserver.Seams {
	return editMessages(func(messages []map[string]any) []map[string]any {
		for _, m := range messages {
			if hasBlock(m, kind) {
				e(m)
			}
		}
		return messages
	})
}

func hasBlock(m map[string]any, kind string) bool {
	for _, b := range objectsIn(m, "content") {
		if b["type"] == kind {
			return true
		}
	}
	return false
}

// dropLastBlock removes the last content block if there are several.
func dropLastBlock(m map[string]any) {
	if blocks := m["content"].([]any); len(blocks) > 1 {
		m["content"] = blocks[:len(blocks)-1]
	}
}

// loopForEver sends sampling requests, with empty results of the tools that the model uses, until
// the model uses no tool or the client returns an error. The number of requests is not limited. If
// the client lacks the capability sampling.tools, loopForEver only calls next.
func loopForEver(c *refserver.Call, next Handler) (any, *refserver.Error) {
	if !c.ClientDeclared("sampling", "tools") {
		return next(c)
	}
	question := map[string]any{"role": "user", "content": map[string]any{"type": "text", "text": "How warm is it?"}}
	messages := []any{question}
	for {
		result, err := c.SendRequest(spec.MethodSampling, map[string]any{"messages": messages, "maxTokens": 100, "tools": rawJSON(weatherTools)})
		if err != nil {
			return nil, &refserver.Error{Code: spec.CodeInternal, Message: err.Error()}
		}
		var results []any
		for _, b := range wire.Elements(wire.At(result, "/content")) {
			if id := wire.At(b, "/id"); id != nil {
				results = append(results, map[string]any{"type": "tool_result", "toolUseId": id, "content": []any{}})
			}
		}
		if len(results) == 0 {
			return map[string]any{"content": []any{}}, nil
		}
		messages = []any{
			question, map[string]any{"role": "assistant", "content": wire.At(result, "/content")}, map[string]any{"role": "user", "content": results},
		}
	}
}

// samplingResponseFaults returns the faults of a server that handles sampling responses
// incorrectly.
func samplingResponseFaults() []*Fault {
	const model, reason, array, rejected, validated = "sampling.hints.advisory/", "sampling.result.stop-reason-open/", "sampling.result.content-array/",
		"sampling.rejection.handled-2024-11-05/", "sampling.validates-content/"
	toTool := []spec.Revision{spec.V20250326, spec.V20250618, spec.V20251125} // 2024-11-05 has no readOnlyHint
	on := func(when func(m *wire.Message) bool, then func(*refserver.Session, []byte) refserver.FrameAction) func() *refserver.Seams {
		return onClientResponse(spec.MethodSampling, when, then)
	}
	isArray := func(m *wire.Message) bool { return wire.At(m.Result(), "/content").Kind() == '[' && !wantsTools(m) }
	return []*Fault{
		newFaultWithState(model+"refused", "the server accepts sampling results only from the hinted model", on(resultHasText("/model", "some-other-model-of-our-own"), replaceByError)).inRevisions(toTool...),
		newFaultWithState(model+"dies", "a sampling result of another model than the hinted one ends the process", on(resultHasText("/model", "some-other-model-of-our-own"), exitWith(1))).inRevisions(toTool...),
		newFaultWithState(reason+"unknown-refused", "the server refuses a sampling result with an unknown stopReason", on(resultHasText("/stopReason", "somethingElse"), replaceByError)).inRevisions(toTool...),
		newFaultWithState(reason+"missing-refused", "the server refuses a sampling result without stopReason", on(resultLacks("/stopReason"), replaceByError)).inRevisions(toTool...),
		newFaultWithState(reason+"missing-hangs", "after a sampling result without stopReason the server waits for ever", on(resultLacks("/stopReason"), dropFrame)).inRevisions(toTool...),
		newFaultWithState(array+"refused", "the server refuses a sampling result whose content is an array", on(isArray, replaceByError)),
		newFaultWithState(rejected+"dies", "a rejected sampling request ends the process", on(isErrorResponse, exitWith(1))).inRevisions(toTool...),
		newFaultWithState(rejected+"hangs", "the server ignores the error for a rejected sampling request", on(isErrorResponse, dropFrame)).inRevisions(toTool...),
		newFaultWithState(validated+"no-content-dies", "a sampling result without content ends the process", on(resultLacks("/content"), exitWith(1))).inRevisions(toTool...),
		newFaultWithState(validated+"no-content-hangs", "the server ignores a sampling result without content", on(resultLacks("/content"), dropFrame)).inRevisions(toTool...),
		newFaultWithState(validated+"base64-dies", "a sampling result with an image that is not base64 ends the process", on(resultHasText("/content/data", "%%%"), exitWith(1))).inRevisions(toTool...),
	}
}

// wantsTools reports whether a sampling result contains a tool_use.
func wantsTools(m *wire.Message) bool {
	for _, b := range wire.Elements(wire.At(m.Result(), "/content")) {
		if kind, _ := wire.Text(wire.At(b, "/type")); kind == "tool_use" {
			return true
		}
	}
	return false
}

// legalOrder returns the legal variations in the order of sampling requests.
func legalOrder() []*Fault {
	return []*Fault{
		newVariationWithState("sampling-one-at-a-time", "a session has at most one pending sampling request", func() *refserver.Seams {
			var turns sync.Map // by session: a channel of capacity 1 that serves as a lock
			return combineSeams(markReadOnly("ask-sampling"), &refserver.Seams{Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
				if name, _ := wire.Text(wire.At(c.Params, "/name")); c.Method != spec.MethodToolsCall || name != "ask-sampling" {
					return next(c)
				}
				held, _ := turns.LoadOrStore(c.Session, make(chan struct{}, 1))
				turn := held.(chan struct{})
				select {
				case turn <- struct{}{}:
					defer func() { <-turn }()
				case <-c.Context().Done():
				}
				return next(c)
			}})
		}),
	}
}
