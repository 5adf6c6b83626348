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

// toolFaults are those in what is offered as tools.
func toolFaults() []Fault {
	older, newer := beforeNewest(), spec.V20251125
	return []Fault{
		breaks("tools.capability.declared/missing", "tools are listed and called, and not declared", undeclared("tools")),
		breaks("tools.capability.declared/unlisted", "tools are not declared, their list is refused, and any call succeeds", together(
			undeclared("tools"), refuse(spec.MethodToolsList, session, spec.CodeMethodNotFound, "Method not found"), anyCall(`{"content":[{"type":"text","text":"Done."}]}`))),

		breaks("tools.list.answered/internal-error", "tools/list gets an internal error", refuse(spec.MethodToolsList, session, spec.CodeInternal, "Internal error")),
		breaks("tools.list.answered/unknown-method", "tools/list is an unknown method", refuse(spec.MethodToolsList, session, spec.CodeMethodNotFound, "Method not found")),
		breaks("tools.list.answered/empty-params", "tools/list is refused where its params are empty",
			refuse(spec.MethodToolsList, func(c *refserver.Call) bool { return string(c.Params) == "{}" }, spec.CodeInvalidParams, "cursor is required")),
		breaks("tools.list.params-optional/refused", "tools/list is refused without params", refuse(spec.MethodToolsList, noParams, spec.CodeInvalidParams, "params are required")),

		breaks("tools.list-changed.only-if-declared-2024-11-05/no-flag", "changes to the list of tools are announced but not declared", together(
			capabilityOf("tools", map[string]any{}), sendsWhenReady(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))),
		breaks("tools.list-changed.only-if-declared-2025-06-18/no-flag", "changes to the list of tools are announced but not declared", together(
			capabilityOf("tools", map[string]any{}), sendsWhenReady(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))),
		breaks("tools.list-changed.only-if-declared-2025-06-18/flag-false", "changes to the list of tools are announced though listChanged is false", together(
			capabilityOf("tools", map[string]any{"listChanged": false}), sendsWhenReady(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))),
		breaksAfresh("tools.list-changed.sent-on-change-2024-11-05/silent", "a tool goes away without a word", func() refserver.Seams {
			return goes(spec.MethodToolsList, "tools", "fail")
		}),

		breaks("tools.name.unique-2024-11-05/twice", "two tools have the same name", editTool("add", func(t map[string]any) { t["name"] = "echo" })).in(older...),
		breaks("tools.name.unique-2025-11-25/twice", "two tools have the same name", editTool("add", func(t map[string]any) { t["name"] = "echo" })).in(newer),
		breaks("tools.name.unique-2025-11-25/on-another-page", "tools on different pages have the same name", editTool("fail", func(t map[string]any) { t["name"] = "echo" })).in(newer),
		breaks("tools.name.length/empty", "a tool has an empty name", editTool("add", func(t map[string]any) { t["name"] = "" })),
		breaks("tools.name.length/long", "a tool has a name of 129 characters", editTool("add", func(t map[string]any) { t["name"] = strings.Repeat("a", 129) })),
		breaks("tools.name.charset/umlaut", "a tool's name has an umlaut", editTool("add", func(t map[string]any) { t["name"] = "größe" })),
		breaks("tools.name.charset/other-digits", "a tool's name has digits beyond ASCII", editTool("add", func(t map[string]any) { t["name"] = "add٢" })),
		breaks("tools.name.no-special-characters/space", "a tool's name has a space", editTool("add", func(t map[string]any) { t["name"] = "add numbers" })),
		breaks("tools.name.no-special-characters/slash", "a tool's name has a slash", editTool("add", func(t map[string]any) { t["name"] = "math/add" })),
		breaks("tools.name.no-special-characters/newline", "a tool's name ends in a newline", editTool("add", func(t map[string]any) { t["name"] = "add\n" })),
		breaks("tools.name.case-sensitive/folded", "tools are found in any letter case", Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			return next(renamed(c, strings.ToLower))
		})),
	}
}

// callFaults are those in how calls are taken.
func callFaults() []Fault {
	return []Fault{
		breaks("tools.call.arguments-optional/refused", "a call without arguments is refused", refuse(spec.MethodToolsCall, noArguments, spec.CodeInvalidParams, "arguments are required")).in(callable()...),
		breaks("tools.call.arguments-optional/is-error", "a call without arguments gets an isError result", Handle(spec.MethodToolsCall,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if noArguments(c) {
					return toolFails("expected object, received undefined"), nil
				}
				return next(c)
			})).in(callable()...),
		breaks("tools.call.listed-tool-is-found/renamed", "tools are listed by other names than they are called by", EditResult(spec.MethodToolsList, func(r map[string]any) {
			for _, t := range items(r, "tools") {
				t["name"] = t["name"].(string) + "_v2"
			}
		})).in(callable()...),
		breaks("tools.call.listed-tool-is-found/is-error", "every call gets a result that says that the tool was not found", Handle(spec.MethodToolsCall,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if name, ok := wire.Text(wire.At(c.Params, "/name")); ok {
					return toolFails("Tool " + name + " not found"), nil
				}
				return next(c)
			})).in(callable()...),
		breaks("tools.call.unknown-tool-error/served", "a call of an unknown tool succeeds", onUnknownTool(func(*refserver.Error) (any, *refserver.Error) {
			return map[string]any{"content": []any{}}, nil
		})),
		breaks("tools.call.unknown-tool-error/is-error", "a call of an unknown tool gets an isError result", onUnknownTool(func(err *refserver.Error) (any, *refserver.Error) {
			return toolFails(err.Message), nil
		})),
		breaks("tools.call.unknown-tool-code/method-not-found", "a call of an unknown tool gets -32601", onUnknownTool(func(err *refserver.Error) (any, *refserver.Error) {
			return nil, &refserver.Error{Code: spec.CodeMethodNotFound, Message: err.Message}
		})),
		breaks("tools.call.unknown-tool-code/zero", "a call of an unknown tool gets error code 0", onUnknownTool(func(err *refserver.Error) (any, *refserver.Error) {
			return nil, &refserver.Error{Code: 0, Message: err.Message}
		})),
		breaks("tools.call.malformed-request-error/array", "arguments that are no object are ignored", Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if malformed(c) {
				c.Params = wire.JSON(map[string]any{"name": wire.At(c.Params, "/name")})
			}
			return next(c)
		})).in(callable()...),
		breaks("tools.call.malformed-request-error/no-name", "a call without a name succeeds", acceptsWithout(spec.MethodToolsCall, "name", `{"content":[]}`)),
		breaks("tools.call.not-supported-error/is-error", "tools are not declared, and calls get an isError result", together(
			undeclared("tools"), refuse(spec.MethodToolsList, session, spec.CodeMethodNotFound, "Method not found"),
			anyCall(`{"isError":true,"content":[{"type":"text","text":"There are no tools here."}]}`))),
	}
}

// failureFaults are those in how wrong arguments and failures are reported.
func failureFaults() []Fault {
	return []Fault{
		breaks("tools.call.validates-inputs/taken", "wrong arguments are taken", onWrongArguments(func(string) (any, *refserver.Error) {
			return map[string]any{"content": []any{}, "structuredContent": map[string]any{"sum": 0, "distance": 0}}, nil
		})).in(callable()...),
		breaks("tools.call.validates-inputs/fraction-cut", "the fraction of an argument that is to be an integer is cut off", Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if name, _ := wire.Text(wire.At(c.Params, "/name")); name == "slow" {
				c.Params = bytes.Replace(c.Params, []byte("1.5"), []byte("1"), 1)
			}
			return next(c)
		})).in(spec.V20251125),
		breaks("tools.call.validates-inputs/dropped", "arguments that a tool does not have are dropped", dropsUnknownArguments()).in(spec.V20251125),
		breaks("tools.call.invalid-arguments-rejected-2024-11-05/dropped", "arguments that a tool does not have are dropped", dropsUnknownArguments()).in(spec.V20250326, spec.V20250618),
		breaks("tools.call.invalid-arguments-is-execution-error-2025-11-25/error", "wrong arguments get an error", onWrongArguments(func(problem string) (any, *refserver.Error) {
			return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: problem}
		})),
		breaks("tools.call.execution-error-is-result/own-code", "a tool that fails gets an error of its own code", onFailure(func(r map[string]any) (any, *refserver.Error) {
			return nil, &refserver.Error{Code: 1001, Message: "The tool failed"}
		})).in(callable()...),
		breaks("tools.call.execution-error-is-result/internal-error", "a tool that fails gets an internal error", onFailure(func(r map[string]any) (any, *refserver.Error) {
			return nil, &refserver.Error{Code: spec.CodeInternal, Message: "The tool failed"}
		})).in(callable()...),
		breaks("tools.call.execution-error-explains/empty", "a tool that fails returns no content", onFailure(func(r map[string]any) (any, *refserver.Error) {
			return with(r, "content", []any{}), nil
		})),
		breaks("tools.call.execution-error-explains/blank", "a tool that fails returns blanks", onFailure(func(r map[string]any) (any, *refserver.Error) {
			return with(r, "content", []any{map[string]any{"type": "text", "text": " \n"}}), nil
		})),
		breaks("tools.embedded-resource.needs-resources-capability/undeclared", "a tool embeds resources, and there are none", offeringOnly("tools", "prompts", "completions", "completion")),
		breaks("tools.resource-link.fetchable/gone", "a tool links to a resource that does not exist", EditResult(spec.MethodToolsCall, func(r map[string]any) {
			for _, block := range items(r, "content") {
				if block["type"] == "resource_link" {
					block["uri"] = "demo://gone"
				}
			}
		})),
		breaks("tools.input-schema.no-parameters-form/any", "tools without parameters take any", listed(spec.MethodToolsList, bareSchema)),
	}
}

// session reports whether the handshake is done.
func session(c *refserver.Call) bool { return c.Revision != "" }

func noParams(c *refserver.Call) bool { return c.Params == nil }

// noArguments reports whether a call names a tool and has no arguments.
func noArguments(c *refserver.Call) bool {
	return wire.At(c.Params, "/name").Kind() == '"' && wire.At(c.Params, "/arguments") == nil
}

// capabilityOf declares a capability otherwise.
func capabilityOf(name string, value any) refserver.Seams {
	return EditResult(spec.MethodInitialize, func(r map[string]any) { r["capabilities"].(map[string]any)[name] = value })
}

func toolFails(text string) map[string]any {
	return map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": text}}}
}

// anyCall answers every call with a fixed result.
func anyCall(result string) refserver.Seams {
	return Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if session(c) {
			return jsontext.Value(result), nil
		}
		return next(c)
	})
}

// renamed is the call with another name.
func renamed(c *refserver.Call, rename func(string) string) *refserver.Call {
	_, p := wire.Members(c.Params)
	if name, ok := wire.Text(p["name"]); ok {
		p["name"] = wire.Quote(rename(name))
		c.Params = wire.JSON(p)
	}
	return c
}

// goes has an item vanish from a list once that was walked through.
func goes(method, member, name string) refserver.Seams {
	var walks atomic.Int64
	return Handle(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if wire.At(c.Params, "/cursor") == nil {
			walks.Add(1)
		}
		result, err := next(c)
		if err != nil || walks.Load() < 2 {
			return result, err
		}
		r := plain(result)
		r[member] = slices.DeleteFunc(r[member].([]any), func(item any) bool { return item.(map[string]any)["name"] == name })
		return r, nil
	})
}

func onUnknownTool(f func(err *refserver.Error) (any, *refserver.Error)) refserver.Seams {
	return Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil && strings.Contains(err.Message, "no such tool") {
			return f(err)
		}
		return result, err
	})
}

// onWrongArguments answers calls whose arguments are objects that a tool refused.
func onWrongArguments(f func(problem string) (any, *refserver.Error)) refserver.Seams {
	return Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		switch {
		case wire.At(c.Params, "/name").Kind() != '"' || malformed(c):
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

// dropsUnknownArguments takes a call again without the arguments that are
// made up.
func dropsUnknownArguments() refserver.Seams {
	return Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
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

// onFailure rewrites the results of tools that failed by themselves, be they
// called as tasks or not.
func onFailure(f func(r map[string]any) (any, *refserver.Error)) refserver.Seams {
	return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil || c.Method != spec.MethodToolsCall && c.Method != spec.MethodTasksResult {
			return result, err
		}
		r := plain(result)
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

// bareSchema leaves nothing in the schema of a tool but its type.
func bareSchema(tool map[string]any) { tool["inputSchema"] = map[string]any{"type": "object"} }
