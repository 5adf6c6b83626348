package faults

import (
	"bytes"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// toolFaults returns the faults in the list of tools.
func toolFaults() []*Fault {
	older, newer := olderRevisions(), spec.V20251125
	return []*Fault{
		newFault("tools.capability.declared/missing", "tools are listed and called but not declared", withholdCapabilities("tools")),
		newFault("tools.capability.declared/unlisted", "tools are not declared, tools/list is refused, and any call succeeds", combineSeams(
			withholdCapabilities("tools"), refuseCalls(spec.MethodToolsList, isInitialized, spec.CodeMethodNotFound, "Method not found"), fixedCallResult(`{"content":[{"type":"text","text":"Done."}]}`))),

		newFault("tools.list.answered/internal-error", "tools/list gets an internal error", refuseCalls(spec.MethodToolsList, isInitialized, spec.CodeInternal, "Internal error")),
		newFault("tools.list.answered/unknown-method", "tools/list gets -32601", refuseCalls(spec.MethodToolsList, isInitialized, spec.CodeMethodNotFound, "Method not found")),
		newFault("tools.list.answered/empty-params", "tools/list with empty params is refused",
			refuseCalls(spec.MethodToolsList, func(c *refserver.Call) bool { return string(c.Params) == "{}" }, spec.CodeInvalidParams, "cursor is required")),
		newFault("tools.list.params-optional/refused", "tools/list is refused without params", refuseCalls(spec.MethodToolsList, lacksParams, spec.CodeInvalidParams, "params are required")),

		newFault("tools.list-changed.only-if-declared-2024-11-05/no-flag", "changes to the list of tools are announced but not declared", combineSeams(
			setCapability("tools", map[string]any{}), sendLineOnInitialized(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))),
		newFault("tools.list-changed.only-if-declared-2025-06-18/no-flag", "changes to the list of tools are announced but not declared", combineSeams(
			setCapability("tools", map[string]any{}), sendLineOnInitialized(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))),
		newFault("tools.list-changed.only-if-declared-2025-06-18/flag-false", "changes to the list of tools are announced though listChanged is false", combineSeams(
			setCapability("tools", map[string]any{"listChanged": false}), sendLineOnInitialized(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))),
		newFaultWithState("tools.list.same-on-every-connection/alternating", "every second process leaves tools out of its list", shortenPagesOfEverySecondServer(spec.MethodToolsList)),
		newFaultWithState("tools.list.no-side-effect-of-requests/forgets", "after a tools/call some tools are no longer listed", forgetAfter(spec.MethodToolsCall, spec.MethodToolsList)),
		newFault("tools.list-changed.sent-on-change-2026-07-28/silent", "subscriptions get no notification of changes to the list of tools", combineSeams(
			markReadOnly("trigger-list-changed"), dropMessages(notifications(spec.MethodToolsChanged)))),
		newFaultWithState("tools.list-changed.sent-on-change-2024-11-05/silent", "a tool disappears without a notification", func() *refserver.Seams {
			return removeAfterWalk(spec.MethodToolsList, "tools", "fail")
		}),

		newFault("tools.name.unique-2024-11-05/twice", "two tools have the same name", editTool("add", func(t map[string]any) { t["name"] = "echo" })).inRevisions(older...),
		newFault("tools.name.unique-2025-11-25/twice", "two tools have the same name", editTool("add", func(t map[string]any) { t["name"] = "echo" })).inRevisions(newer),
		newFault("tools.name.unique-2025-11-25/on-another-page", "tools on different pages have the same name", editTool("fail", func(t map[string]any) { t["name"] = "echo" })).inRevisions(newer),
		newFault("tools.name.length/empty", "a tool has an empty name", editTool("add", func(t map[string]any) { t["name"] = "" })),
		newFault("tools.name.length/long", "a tool has a name of 129 characters", editTool("add", func(t map[string]any) { t["name"] = strings.Repeat("a", 129) })),
		newFault("tools.name.charset/umlaut", "a tool's name has an umlaut", editTool("add", func(t map[string]any) { t["name"] = "größe" })),
		newFault("tools.name.charset/other-digits", "a tool's name has non-ASCII digits", editTool("add", func(t map[string]any) { t["name"] = "add٢" })),
		newFault("tools.name.no-special-characters/space", "a tool's name has a space", editTool("add", func(t map[string]any) { t["name"] = "add numbers" })),
		newFault("tools.name.no-special-characters/slash", "a tool's name has a slash", editTool("add", func(t map[string]any) { t["name"] = "math/add" })),
		newFault("tools.name.no-special-characters/newline", "a tool's name ends in a newline", editTool("add", func(t map[string]any) { t["name"] = "add\n" })),
		newFault("tools.name.case-sensitive/folded", "tools can be called in any letter case", WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			return next(renameCalledTool(c, strings.ToLower))
		})),
	}
}

// callFaults returns the faults in handling tools/call.
func callFaults() []*Fault {
	return []*Fault{
		newFault("tools.call.arguments-optional/refused", "a call without arguments is refused", refuseCalls(spec.MethodToolsCall, lacksArguments, spec.CodeInvalidParams, "arguments are required")).inRevisions(revisionsWithReadOnlyHint()...),
		newFault("tools.call.arguments-optional/is-error", "a call without arguments gets an isError result", WrapHandler(spec.MethodToolsCall,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if lacksArguments(c) {
					return failedResult("expected object, received undefined"), nil
				}
				return next(c)
			})).inRevisions(revisionsWithReadOnlyHint()...),
		newFault("tools.call.arguments-optional/internal-error", "a call without arguments gets an internal error", refuseCalls(spec.MethodToolsCall, lacksArguments, spec.CodeInternal, "Internal error")).inRevisions(append(revisionsWithReadOnlyHint(), spec.V20260728)...),
		newFault("tools.call.listed-tool-is-found/renamed", "tools/list has other names than tools/call accepts", EditResult(spec.MethodToolsList, func(r map[string]any) {
			for _, t := range objectsIn(r, "tools") {
				t["name"] = t["name"].(string) + "_v2"
			}
		})).inRevisions(revisionsWithReadOnlyHint()...),
		newFault("tools.call.listed-tool-is-found/is-error", "every call returns that the tool was not found", WrapHandler(spec.MethodToolsCall,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if name, ok := wire.Text(wire.At(c.Params, "/name")); ok {
					return failedResult("Tool " + name + " not found"), nil
				}
				return next(c)
			})).inRevisions(revisionsWithReadOnlyHint()...),
		newFault("tools.call.unknown-tool-error/served", "a call of an unknown tool succeeds", onUnknownTool(func(*refserver.Error) (any, *refserver.Error) {
			return map[string]any{"content": []any{}}, nil
		})),
		newFault("tools.call.unknown-tool-error/is-error", "a call of an unknown tool gets an isError result", onUnknownTool(func(err *refserver.Error) (any, *refserver.Error) {
			return failedResult(err.Message), nil
		})),
		newFault("tools.call.unknown-tool-code/method-not-found", "a call of an unknown tool gets -32601", onUnknownTool(func(err *refserver.Error) (any, *refserver.Error) {
			return nil, &refserver.Error{Code: spec.CodeMethodNotFound, Message: err.Message}
		})),
		newFault("tools.call.unknown-tool-code/zero", "a call of an unknown tool gets error code 0", onUnknownTool(func(err *refserver.Error) (any, *refserver.Error) {
			return nil, &refserver.Error{Code: 0, Message: err.Message}
		})),
		newFault("tools.call.malformed-request-error/array", "arguments that are not an object are ignored", WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if hasMalformedParams(c) {
				c.Params = wire.JSON(map[string]any{"name": wire.At(c.Params, "/name")})
			}
			return next(c)
		})).inRevisions(revisionsWithReadOnlyHint()...),
		newFault("tools.call.malformed-request-error/no-name", "a call without a name succeeds", acceptMissingParam(spec.MethodToolsCall, "name", `{"content":[]}`)),
		newFault("tools.call.not-supported-error/is-error", "tools are not declared, and calls return isError", combineSeams(
			withholdCapabilities("tools"), refuseCalls(spec.MethodToolsList, isInitialized, spec.CodeMethodNotFound, "Method not found"),
			fixedCallResult(`{"isError":true,"content":[{"type":"text","text":"There are no tools here."}]}`))),
	}
}

// failureFaults returns the faults in reporting invalid arguments and tool failures.
func failureFaults() []*Fault {
	return []*Fault{
		newFault("tools.call.validates-inputs/taken", "invalid arguments are accepted", onWrongArguments(func(string) (any, *refserver.Error) {
			return map[string]any{"content": []any{}, "structuredContent": map[string]any{"sum": 0, "distance": 0}}, nil
		})).inRevisions(revisionsWithReadOnlyHint()...),
		newFault("tools.call.validates-inputs/fraction-cut", "the fraction of an integer argument is truncated", WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if name, _ := wire.Text(wire.At(c.Params, "/name")); name == "slow" {
				c.Params = bytes.Replace(c.Params, []byte("1.5"), []byte("1"), 1)
			}
			return next(c)
		})).inRevisions(spec.V20251125),
		newFault("tools.call.validates-inputs/dropped", "unknown arguments are ignored", dropUnknownArguments()).inRevisions(spec.V20251125),
		newFault("tools.call.invalid-arguments-rejected-2024-11-05/dropped", "unknown arguments are ignored", dropUnknownArguments()).inRevisions(spec.V20250326, spec.V20250618),
		newFault("tools.call.invalid-arguments-is-execution-error-2025-11-25/error", "invalid arguments get a protocol error", onWrongArguments(func(problem string) (any, *refserver.Error) {
			return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: problem}
		})),
		newFault("tools.call.execution-error-is-result/own-code", "a failing tool returns a protocol error with a code of its own", onFailure(func(r map[string]any) (any, *refserver.Error) {
			return nil, &refserver.Error{Code: 1001, Message: "The tool failed"}
		})).inRevisions(revisionsWithReadOnlyHint()...),
		newFault("tools.call.execution-error-is-result/internal-error", "a failing tool returns an internal error", onFailure(func(r map[string]any) (any, *refserver.Error) {
			return nil, &refserver.Error{Code: spec.CodeInternal, Message: "The tool failed"}
		})).inRevisions(revisionsWithReadOnlyHint()...),
		newFault("tools.call.execution-error-explains/empty", "a failing tool returns no content", onFailure(func(r map[string]any) (any, *refserver.Error) {
			return withMember(r, "content", []any{}), nil
		})),
		newFault("tools.call.execution-error-explains/blank", "a failing tool returns only white space", onFailure(func(r map[string]any) (any, *refserver.Error) {
			return withMember(r, "content", []any{map[string]any{"type": "text", "text": " \n"}}), nil
		})),
		newFault("tools.embedded-resource.needs-resources-capability/undeclared", "a tool embeds resources, but resources are not declared", declareOnly("tools", "prompts", "completions", "completion")),
		newFault("tools.resource-link.fetchable/gone", "a tool links to a resource that does not exist", EditResult(spec.MethodToolsCall, func(r map[string]any) {
			for _, block := range objectsIn(r, "content") {
				if block["type"] == "resource_link" {
					block["uri"] = "demo://gone"
				}
			}
		})),
		newFault("tools.input-schema.no-parameters-form/any", "the schema of tools without parameters accepts any arguments", editListItems(spec.MethodToolsList, reduceSchema)),
	}
}

// isInitialized reports whether initialize is complete.
func isInitialized(c *refserver.Call) bool { return c.Revision != "" }

func lacksParams(c *refserver.Call) bool { return c.Params == nil }

// lacksArguments reports whether the params have a name but no arguments.
func lacksArguments(c *refserver.Call) bool {
	return wire.At(c.Params, "/name").Kind() == '"' && wire.At(c.Params, "/arguments") == nil
}

// setCapability sets a capability in the result of initialize.
func setCapability(name string, value any) *refserver.Seams {
	return EditResult(spec.MethodInitialize, func(r map[string]any) { r["capabilities"].(map[string]any)[name] = value })
}

func failedResult(text string) map[string]any {
	return map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": text}}}
}

// fixedCallResult returns the same result for every call after initialization.
func fixedCallResult(result string) *refserver.Seams {
	return WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if isInitialized(c) {
			return jsontext.Value(result), nil
		}
		return next(c)
	})
}

// renameCalledTool changes the tool name in the params of a call.
func renameCalledTool(c *refserver.Call, rename func(string) string) *refserver.Call {
	_, p := wire.Members(c.Params)
	if name, ok := wire.Text(p["name"]); ok {
		p["name"] = wire.Quote(rename(name))
		c.Params = wire.JSON(p)
	}
	return c
}

// removeAfterWalk removes an item from a list, starting with the second walk through the list. The
// walks of all sessions are counted together.
func removeAfterWalk(method, member, name string) *refserver.Seams {
	var walks atomic.Int64
	return WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if wire.At(c.Params, "/cursor") == nil {
			walks.Add(1)
		}
		result, err := next(c)
		if err != nil || walks.Load() < 2 {
			return result, err
		}
		r := decodeObject(result)
		r[member] = slices.DeleteFunc(r[member].([]any), func(item any) bool { return item.(map[string]any)["name"] == name })
		return r, nil
	})
}

func onUnknownTool(f func(err *refserver.Error) (any, *refserver.Error)) *refserver.Seams {
	return WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil && strings.Contains(err.Message, "no such tool") {
			return f(err)
		}
		return result, err
	})
}

// onWrongArguments replaces the response to each call whose arguments the tool refused, if they are
// an object. The function f gets the description of the problem.
func onWrongArguments(f func(problem string) (any, *refserver.Error)) *refserver.Seams {
	return WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		switch {
		case wire.At(c.Params, "/name").Kind() != '"' || hasMalformedParams(c):
		case err != nil && err.Code == spec.CodeInvalidParams && !strings.Contains(err.Message, "no such tool"):
			return f(err.Message)
		case err == nil:
			text, _ := wire.Text(wire.At(wire.JSON(result), "/content/0/text"))
			if strings.HasPrefix(text, "The arguments are not right") {
				return f(text)
			}
		}
		return result, err
	})
}

// dropUnknownArguments removes the unknown arguments that the harness made up, so that
// the call succeeds.
func dropUnknownArguments() *refserver.Seams {
	return WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		_, p := wire.Members(c.Params)
		if _, given := wire.Members(p["arguments"]); given != nil {
			for name := range given {
				if strings.HasPrefix(name, "mcp-conform") {
					delete(given, name)
				}
			}
			p["arguments"] = wire.JSON(given)
			c.Params = wire.JSON(p)
		}
		return next(c)
	})
}

// onFailure replaces the results of failed tool calls, whether or not the calls run as tasks. It
// does not replace the results of calls with invalid arguments.
func onFailure(f func(r map[string]any) (any, *refserver.Error)) *refserver.Seams {
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil || c.Method != spec.MethodToolsCall && c.Method != spec.MethodTasksResult {
			return result, err
		}
		r := decodeObject(result)
		text, _ := wire.Text(wire.At(wire.JSON(r), "/content/0/text"))
		if r["isError"] != true || strings.HasPrefix(text, "The arguments are not right") {
			return r, nil
		}
		changed, err := f(r)
		if o, ok := changed.(map[string]any); ok && r["_meta"] != nil {
			o["_meta"] = r["_meta"]
		}
		return changed, err
	})
}

// reduceSchema reduces the input schema of a tool to its type.
func reduceSchema(tool map[string]any) { tool["inputSchema"] = map[string]any{"type": "object"} }
