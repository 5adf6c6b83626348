package faults

import (
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalToolsAndPrompts returns the legal variations in tools, prompts and completion.
func legalToolsAndPrompts() []*Fault {
	worded := func(text string) *refserver.Seams {
		return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil && strings.Contains(err.Message, "there is no such") {
				name, _ := wire.Text(wire.At(c.Params, "/name"))
				return nil, &refserver.Error{Code: err.Code, Message: strings.ReplaceAll(text, "NAME", name), Data: err.Data}
			}
			return result, err
		})
	}
	completion := func(f func(q jsontext.Value, result any, err *refserver.Error) (any, *refserver.Error)) *refserver.Seams {
		return WrapHandler(spec.MethodComplete, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			return f(c.Params, result, err)
		})
	}
	return []*Fault{
		newVariation("empty-list-of-tools", "tools are declared, but the list is empty", combineSeams(replaceResult(spec.MethodToolsList, `{"tools":[]}`),
			refuseByName(spec.MethodToolsCall, func(string) *refserver.Error {
				return &refserver.Error{Code: spec.CodeInvalidParams, Message: "Unknown tool"}
			}))),
		newVariation("empty-list-of-prompts", "prompts are declared, but the list is empty", combineSeams(replaceResult(spec.MethodPromptsList, `{"prompts":[]}`),
			refuseByName(spec.MethodPromptsGet, func(string) *refserver.Error {
				return &refserver.Error{Code: spec.CodeInvalidParams, Message: "Unknown prompt"}
			}))),
		newVariation("tools-of-the-official-suite", "the server also offers tools and a prompt of the official suite",
			combineSeams(addFixedTools(officialResults(nil)), addPrompt("test_simple_prompt", aPrompt))),
		newVariation("optional-arguments", "a tool has optional and nested arguments, which it validates", addTools(rightSurvey.tool())).inRevisions(sinceRevision(spec.V20250618)...),
		newVariation("tools-by-number", "the names of tools do not describe what they do", combineSeams(
			renameListedTool("slow", "t1"), renameListedTool("log", "t2"), renameListedTool("ask-roots", "t3"), renameListedTool("ask-sampling", "t4"), renameListedTool("ask-elicitation", "t5"),
			renameListedTool("trigger-list-changed", "t6"), renameListedTool("update-resource", "t7"))),
		newVariationWithState("first-call-fails", "the first call without arguments gets an internal error, because something is not ready", func() *refserver.Seams {
			var called atomic.Bool
			return refuseCalls(spec.MethodToolsCall, func(c *refserver.Call) bool { return lacksArguments(c) && !called.Swap(true) }, spec.CodeInternal, "Internal error")
		}).inRevisions(append(revisionsWithReadOnlyHint(), spec.V20260728)...),
		newVariation("tool-always-fails", "two tools always fail in the same way", refuseCalls(spec.MethodToolsCall, func(c *refserver.Call) bool {
			return toolName(c) == "add" || toolName(c) == "distance"
		}, spec.CodeInternal, "runtime error: index out of range [0] with length 0")),
		newVariation("silent-lists", "the server neither declares nor announces list changes", combineSeams(
			setCapability("tools", map[string]any{"listChanged": false}), setCapability("prompts", map[string]any{}), setCapability("resources", map[string]any{"subscribe": true}),
			dropMessages(func(o *refserver.Out) bool {
				return o.Kind == refserver.OutNotification && strings.HasSuffix(o.Method, "/list_changed")
			}))),
		newVariationWithState("list-changes-told", "a tool disappears with a notification", func() *refserver.Seams {
			var walks atomic.Int64
			gone := refuseCalls(spec.MethodToolsCall, func(c *refserver.Call) bool {
				return walks.Load() > 1 && string(wire.At(c.Params, "/name")) == `"fail"`
			}, spec.CodeInvalidParams, "Unknown tool: fail")
			return combineSeams(removeAfterWalk(spec.MethodToolsList, "tools", "fail"), gone, WrapHandler(spec.MethodToolsList, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := next(c)
				if isInitialized(c) && wire.At(c.Params, "/cursor") == nil && walks.Add(1) == 2 {
					c.Session.SendRaw([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
				}
				return result, err
			}))
		}),
		newVariation("names-of-128-characters", "names of tools have the maximal length and every kind of permitted character", combineSeams(
			EditResult(spec.MethodToolsList, func(r map[string]any) {
				for _, t := range objectsIn(r, "tools") {
					t["name"] = longName(t["name"].(string))
				}
			}),
			WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				return next(renameCalledTool(c, func(name string) string {
					if _, short, ok := strings.Cut(name, "__"); ok && longName(short) == name {
						return short
					}
					return name
				}))
			}))),
		newVariation("unknown-in-other-words", "errors about unknown things have other messages", worded("NAME? Never heard of it.")),
		newVariation("same-words-for-all", "all errors have the same message", editError(Errors(), func(e Members) {
			e["message"] = jsontext.Value(`"Invalid params"`)
		})),
		newVariation("failure-not-found", "a failing tool says that something was not found", onFailure(func(map[string]any) (any, *refserver.Error) {
			return failedResult("Tool fail: the file was not found"), nil
		})),
		newVariation("failure-without-text", "a failing tool returns an image", onFailure(func(r map[string]any) (any, *refserver.Error) {
			return withMember(r, "content", []any{map[string]any{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}}), nil
		})),
		newVariation("wrong-arguments-in-detail", "invalid arguments get a long isError result", onWrongArguments(func(problem string) (any, *refserver.Error) {
			return failedResult("Input validation error: tool arguments, unknown or not found: " + problem), nil
		})),
		newVariation("more-arguments-of-prompts", "unknown prompt arguments are refused", WrapHandler(spec.MethodPromptsGet,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if wire.At(c.Params, "/name") != nil && wire.At(c.Params, "/arguments/mcp-conform") != nil {
					return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "Unknown argument"}
				}
				return next(c)
			})),
		newVariation("null-arguments", "a prompt argument that is null is ignored", WrapHandler(spec.MethodPromptsGet, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			_, p := wire.Members(c.Params)
			if _, given := wire.Members(p["arguments"]); given != nil {
				for name, v := range given {
					if v.Kind() == 'n' {
						given[name] = jsontext.Value(`""`)
					}
				}
				p["arguments"] = wire.JSON(given)
				c.Params = wire.JSON(p)
			}
			return next(c)
		})),
		newVariation("no-completion", "completion is not declared, and completion/complete gets -32601", combineSeams(withholdCapabilities("completions"),
			refuseCalls(spec.MethodComplete, isInitialized, spec.CodeMethodNotFound, "Method not found"))),
		newVariation("unknown-templates-completed", "completion for unknown templates returns no values", completion(func(q jsontext.Value, result any, err *refserver.Error) (any, *refserver.Error) {
			if err != nil && strings.Contains(err.Message, "no such resource") {
				return jsontext.Value(noValues), nil
			}
			return result, err
		})),
		newVariation("unknown-arguments-refused", "unknown arguments get no completion", completion(func(q jsontext.Value, result any, err *refserver.Error) (any, *refserver.Error) {
			name, _ := wire.Text(wire.At(q, "/argument/name"))
			if err == nil && (strings.HasPrefix(name, "mcp-conform") || name == "x") {
				return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "There is no such argument"}
			}
			return result, err
		})),
		newVariation("nothing-has-values", "completion has no values for any argument", completion(func(_ jsontext.Value, result any, err *refserver.Error) (any, *refserver.Error) {
			if err != nil {
				return nil, err
			}
			return jsontext.Value(`{"completion":{"values":[]}}`), nil
		})),
	}
}

// longName returns a name of 128 characters that ends in name, or a longer name if name itself is
// too long.
func longName(name string) string {
	const head = "Aa0.-_"
	return head + strings.Repeat("z", max(0, 128-len(head)-2-len(name))) + "__" + name
}

// refuseByName refuses requests after initialization that have a name in their params, with the
// error that f returns for that name.
func refuseByName(method string, f func(name string) *refserver.Error) *refserver.Seams {
	return WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		name, ok := wire.Text(wire.At(c.Params, "/name"))
		if !ok || !isInitialized(c) {
			return next(c)
		}
		return nil, f(name)
	})
}
