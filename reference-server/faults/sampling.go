package faults

import (
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func samplingFaults() []Fault {
	const older, newer = "sampling.requires-client-capability-2024-11-05/", "sampling.requires-client-capability-2025-06-18/"
	const undeclaredContext, avoid = "sampling.include-context.requires-capability/", "sampling.include-context.avoid/"
	const tools, choice = "sampling.tools.requires-capability/", "sampling.tool-choice.requires-capability/"
	undeclared := lacks("sampling")
	unprompted := asksWhere(undeclared, spec.MethodSampling, samplingParams)
	plainSampling := and(declares("sampling"), lacks("sampling", "tools"))
	withContext := func(value string, when func(s *refserver.Session) bool) refserver.Seams {
		return asksWhere(when, spec.MethodSampling, samplingWith("includeContext", value))
	}
	return []Fault{
		breaks(older+"unprompted", "a model is asked whatever the client has declared", unprompted),
		breaks(older+"by-tool", "a tool asks a model whatever the client has declared",
			toolAsks("echo", undeclared, spec.MethodSampling, samplingParams)).in(spec.V20250326),
		breaks(newer+"unprompted", "a model is asked whatever the client has declared", unprompted),
		breaks(newer+"by-tool", "a tool asks a model whatever the client has declared",
			toolAsks("ask-sampling", undeclared, spec.MethodSampling, samplingParams)),

		breaks(tools+"unprompted", "a model is offered tools whatever the client has declared",
			asksWhere(plainSampling, spec.MethodSampling, samplingWith("tools", raw(weatherTools)))),
		breaks(tools+"by-tool", "a tool offers tools to a model whatever the client has declared",
			toolAsks("ask-sampling-tools", plainSampling, spec.MethodSampling, samplingWith("tools", raw(weatherTools)))),
		breaks(choice+"none", "a model is told to use no tools, though the client takes none",
			asksWhere(plainSampling, spec.MethodSampling, samplingWith("toolChoice", raw(`{"mode":"none"}`)))),
		breaks(undeclaredContext+"all-servers", "sampling asks for the context of all servers, which the client does not give",
			withContext("allServers", and(declares("sampling"), lacks("sampling", "context")))),
		breaks(undeclaredContext+"this-server", "sampling asks for the context of this server, which the client does not give",
			withContext("thisServer", and(declares("sampling"), lacks("sampling", "context")))),
		breaks(avoid+"all-servers", "sampling asks for the context of all servers, which the client gives", withContext("allServers", declares("sampling", "context"))),
		breaks(avoid+"by-tool", "every request for sampling of a tool asks for the context of this server", sent(spec.MethodSampling, put("includeContext", "thisServer"))),
	}
}

// weatherTools are tools for a model.
const weatherTools = `[{"name":"weather","inputSchema":{"type":"object"}}]`

// samplingWith returns params with one more member.
func samplingWith(name string, value any) map[string]any {
	return with(plain(samplingParams), name, value)
}

// loopFaults are those of a server that lets a model use tools.
func loopFaults() []Fault {
	const alone, answered, matches, reply, roles = "sampling.tool-result.alone/", "sampling.tool-use.answered/", "sampling.tool-result.matches-id/",
		"sampling.tool-use.reply-to-stop-reason/", "sampling.tool-use.roles/"
	text := map[string]any{"type": "text", "text": "Here they are:"}
	return []Fault{
		breaks(alone+"text-first", "a text stands before the results of tools", inHistory("tool_result", func(m map[string]any) {
			m["content"] = append([]any{text}, m["content"].([]any)...)
		})),
		breaks(alone+"text-last", "a text stands behind the results of tools", inHistory("tool_result", func(m map[string]any) {
			m["content"] = append(m["content"].([]any), text)
		})),
		breaks(roles+"results-from-the-assistant", "the results of tools are said by the assistant", inHistory("tool_result", put("role", "assistant"))),
		breaks(roles+"uses-from-the-user", "the uses of tools are said by the user", inHistory("tool_use", put("role", "user"))),
		breaks(answered+"last-one-missing", "the last of several results of tools is left out", inHistory("tool_result", shorter)),
		breaks(answered+"message-between", "a message stands between the uses of tools and their results", editMessages(func(messages []map[string]any) []map[string]any {
			var out []map[string]any
			for _, m := range messages {
				if holds(m, "tool_result") {
					out = append(out, map[string]any{"role": "user", "content": text})
				}
				out = append(out, m)
			}
			return out
		})),
		breaks(answered+"no-results", "the uses of tools stay in the history, and their results do not", editMessages(func(messages []map[string]any) []map[string]any {
			var out []map[string]any
			for _, m := range messages {
				if !holds(m, "tool_result") {
					out = append(out, m)
				}
			}
			return out
		})),
		breaks(matches+"other-names", "the results of tools have other ids than their uses", inHistory("tool_result", func(m map[string]any) {
			for _, b := range items(m, "content") {
				b["toolUseId"] = "CALL-" + b["toolUseId"].(string)
			}
		})),
		breaks(matches+"last-one-by-name", "the last result names the tool instead of its use", inHistory("tool_result", func(m map[string]any) {
			blocks := items(m, "content")
			blocks[len(blocks)-1]["toolUseId"] = "weather"
		})),
		breaks(reply+"one-left-out", "of several uses of tools the last one is left out, with its result", together(
			inHistory("tool_use", shorter), inHistory("tool_result", shorter))),
		breaks("sampling.tool-result.structured-conforms/text", "structured results of tools hold a text for a number", inHistory("tool_result", func(m map[string]any) {
			for _, b := range items(m, "content") {
				having("structuredContent", put("structuredContent", map[string]any{"degrees": "21"}))(b)
			}
		})),
		breaks("sampling.tool-use.iteration-limit/endless", "a model may use tools for ever", calling("ask-sampling-tools", servesForEver)),
	}
}

// editMessages rewrites the history in requests for sampling.
func editMessages(edit func(messages []map[string]any) []map[string]any) refserver.Seams {
	return sent(spec.MethodSampling, func(p map[string]any) { p["messages"] = edit(items(p, "messages")) })
}

// inHistory edits the messages that hold blocks of the type.
func inHistory(kind string, e edit) refserver.Seams {
	return editMessages(func(messages []map[string]any) []map[string]any {
		for _, m := range messages {
			if holds(m, kind) {
				e(m)
			}
		}
		return messages
	})
}

func holds(m map[string]any, kind string) bool {
	for _, b := range items(m, "content") {
		if b["type"] == kind {
			return true
		}
	}
	return false
}

// shorter drops the last block of several.
func shorter(m map[string]any) {
	if blocks := m["content"].([]any); len(blocks) > 1 {
		m["content"] = blocks[:len(blocks)-1]
	}
}

// servesForEver does what a model wants as long as it wants anything.
func servesForEver(c *refserver.Call, next Handler) (any, *refserver.Error) {
	if !c.Session.Declared("sampling", "tools") {
		return next(c)
	}
	question := map[string]any{"role": "user", "content": map[string]any{"type": "text", "text": "How warm is it?"}}
	messages := []any{question}
	for {
		result, err := c.SendRequest(spec.MethodSampling, map[string]any{"messages": messages, "maxTokens": 100, "tools": raw(weatherTools)})
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

// modelFaults are those of a server that does not cope with what a model says.
func modelFaults() []Fault {
	const model, reason, array, rejected, validated = "sampling.hints.advisory/", "sampling.result.stop-reason-open/", "sampling.result.content-array/",
		"sampling.rejection.handled-2024-11-05/", "sampling.validates-content/"
	toTool := []spec.Revision{spec.V20250326, spec.V20250618, spec.V20251125} // before, no tool says that it is harmless
	on := func(when func(m *wire.Message) bool, then func(*refserver.Session, []byte) refserver.FrameAction) func() refserver.Seams {
		return onReply(spec.MethodSampling, when, then)
	}
	isArray := func(m *wire.Message) bool { return wire.At(m.Result(), "/content").Kind() == '[' && !uses(m) }
	return []Fault{
		breaksAfresh(model+"refused", "no answer of a model is taken but of the one that was hinted at", on(saying("/model", "some-other-model-of-our-own"), fails)).in(toTool...),
		breaksAfresh(model+"dies", "an answer of another model than the one that was hinted at ends the process", on(saying("/model", "some-other-model-of-our-own"), diesOf(1))).in(toTool...),
		breaksAfresh(reason+"unknown-refused", "an answer with an unknown stop reason is not taken", on(saying("/stopReason", "somethingElse"), fails)).in(toTool...),
		breaksAfresh(reason+"missing-refused", "an answer without a stop reason is not taken", on(missing("/stopReason"), fails)).in(toTool...),
		breaksAfresh(reason+"missing-hangs", "an answer without a stop reason is waited for, for ever", on(missing("/stopReason"), swallows)).in(toTool...),
		breaksAfresh(array+"refused", "an answer whose content is an array is not taken", on(isArray, fails)),
		breaksAfresh(rejected+"dies", "that the user rejects sampling ends the process", on(isFailure, diesOf(1))).in(toTool...),
		breaksAfresh(rejected+"hangs", "that the user rejects sampling is not noticed", on(isFailure, swallows)).in(toTool...),
		breaksAfresh(validated+"no-content-dies", "an answer without content ends the process", on(missing("/content"), diesOf(1))).in(toTool...),
		breaksAfresh(validated+"no-content-hangs", "an answer without content is not noticed", on(missing("/content"), swallows)).in(toTool...),
		breaksAfresh(validated+"base64-dies", "an image that is no base64 ends the process", on(saying("/content/data", "%%%"), diesOf(1))).in(toTool...),
	}
}

// uses reports whether a model wants to use tools.
func uses(m *wire.Message) bool {
	for _, b := range wire.Elements(wire.At(m.Result(), "/content")) {
		if kind, _ := wire.Text(wire.At(b, "/type")); kind == "tool_use" {
			return true
		}
	}
	return false
}

// legalOrder are what a server may do that asks a model.
func legalOrder() []Fault {
	return []Fault{
		legalAfresh("sampling-one-at-a-time", "a session has one question to the model open at most", func() refserver.Seams {
			var turns sync.Map // by session: a channel that holds the turn
			return together(harmless("ask-sampling"), refserver.Seams{Handle: func(c *refserver.Call, next func(*refserver.Call) (any, *refserver.Error)) (any, *refserver.Error) {
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
