package faults

import (
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalOffers are the legal variations in what is offered as tools, as prompts
// and for completion.
func legalOffers() []Fault {
	worded := func(text string) refserver.Seams {
		return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil && strings.Contains(err.Message, "there is no such") {
				name, _ := wire.Text(wire.At(c.Params, "/name"))
				return nil, &refserver.Error{Code: err.Code, Message: strings.ReplaceAll(text, "NAME", name), Data: err.Data}
			}
			return result, err
		})
	}
	completion := func(f func(q jsontext.Value, result any, err *refserver.Error) (any, *refserver.Error)) refserver.Seams {
		return Handle(spec.MethodComplete, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			return f(c.Params, result, err)
		})
	}
	return []Fault{
		legal("empty-list-of-tools", "tools are declared, and there are none", together(replaceResult(spec.MethodToolsList, `{"tools":[]}`),
			onNamed(spec.MethodToolsCall, func(string) *refserver.Error {
				return &refserver.Error{Code: spec.CodeInvalidParams, Message: "Unknown tool"}
			}))),
		legal("empty-list-of-prompts", "prompts are declared, and there are none", together(replaceResult(spec.MethodPromptsList, `{"prompts":[]}`),
			onNamed(spec.MethodPromptsGet, func(string) *refserver.Error {
				return &refserver.Error{Code: spec.CodeInvalidParams, Message: "Unknown prompt"}
			}))),
		legal("tools-of-the-official-suite", "the server offers tools of the official suite, too, which do what they are known for, and such a prompt",
			together(offersTools(official(nil)), offersPrompt("test_simple_prompt", aPrompt))),
		legal("optional-arguments", "a tool returns more with arguments that it does not require, and checks those inside an object", adds(rightSurvey.tool())).in(from(spec.V20250618)...),
		legal("tools-by-number", "the names of tools say nothing of what they do", together(
			named("slow", "t1"), named("log", "t2"), named("ask-roots", "t3"), named("ask-sampling", "t4"), named("ask-elicitation", "t5"),
			named("trigger-list-changed", "t6"), named("update-resource", "t7"))),
		legal("tool-always-fails", "a tool fails in the same way whatever it is given", refuse(spec.MethodToolsCall, func(c *refserver.Call) bool {
			return tool(c) == "add" || tool(c) == "distance"
		}, spec.CodeInternal, "runtime error: index out of range [0] with length 0")),
		legal("silent-lists", "changes to lists are not declared, and not told of", together(
			capabilityOf("tools", map[string]any{"listChanged": false}), capabilityOf("prompts", map[string]any{}), capabilityOf("resources", map[string]any{"subscribe": true}),
			mute(func(o *refserver.Out) bool {
				return o.Kind == refserver.OutNotification && strings.HasSuffix(o.Method, "/list_changed")
			}))),
		legalAfresh("list-changes-told", "a tool goes away, and that is told", func() refserver.Seams {
			var walks atomic.Int64
			gone := refuse(spec.MethodToolsCall, func(c *refserver.Call) bool {
				return walks.Load() > 1 && string(wire.At(c.Params, "/name")) == `"fail"`
			}, spec.CodeInvalidParams, "Unknown tool: fail")
			return together(goes(spec.MethodToolsList, "tools", "fail"), gone, Handle(spec.MethodToolsList, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := next(c)
				if session(c) && wire.At(c.Params, "/cursor") == nil && walks.Add(1) == 2 {
					c.Session.SendRaw([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
				}
				return result, err
			}))
		}),
		legal("names-of-128-characters", "names of tools are as long as they may be, with every character that they may have", together(
			EditResult(spec.MethodToolsList, func(r map[string]any) {
				for _, t := range items(r, "tools") {
					t["name"] = longName(t["name"].(string))
				}
			}),
			Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				return next(renamed(c, func(name string) string {
					if _, short, ok := strings.Cut(name, "__"); ok && longName(short) == name {
						return short
					}
					return name
				}))
			}))),
		legal("unknown-in-other-words", "what does not exist is refused in other words", worded("NAME? Never heard of it.")),
		legal("same-words-for-all", "all that is refused is refused with the same words", editError(Errors(), func(e Members) {
			e["message"] = jsontext.Value(`"Invalid params"`)
		})),
		legal("failure-not-found", "a tool that fails says that something was not found", onFailure(func(map[string]any) (any, *refserver.Error) {
			return toolFails("Tool fail: the file was not found"), nil
		})),
		legal("failure-without-text", "a tool that fails shows a picture", onFailure(func(r map[string]any) (any, *refserver.Error) {
			return with(r, "content", []any{map[string]any{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}}), nil
		})),
		legal("wrong-arguments-in-detail", "wrong arguments are refused with many words in a result", onWrongArguments(func(problem string) (any, *refserver.Error) {
			return toolFails("Input validation error: tool arguments, unknown or not found: " + problem), nil
		})),
		legal("more-arguments-of-prompts", "arguments that a prompt does not have are refused", Handle(spec.MethodPromptsGet,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if wire.At(c.Params, "/name") != nil && wire.At(c.Params, "/arguments/mcp-conform") != nil {
					return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "Unknown argument"}
				}
				return next(c)
			})),
		legal("null-arguments", "an argument of a prompt that is null is taken for none", Handle(spec.MethodPromptsGet, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
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
		legal("no-completion", "nothing is completed", together(undeclared("completions"),
			refuse(spec.MethodComplete, session, spec.CodeMethodNotFound, "Method not found"))),
		legal("unknown-templates-completed", "unknown templates have no values", completion(func(q jsontext.Value, result any, err *refserver.Error) (any, *refserver.Error) {
			if err != nil && strings.Contains(err.Message, "no such resource") {
				return jsontext.Value(noValues), nil
			}
			return result, err
		})),
		legal("unknown-arguments-refused", "arguments that there are not are not completed", completion(func(q jsontext.Value, result any, err *refserver.Error) (any, *refserver.Error) {
			name, _ := wire.Text(wire.At(q, "/argument/name"))
			if err == nil && (strings.HasPrefix(name, "mcp-conform") || name == "x") {
				return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "There is no such argument"}
			}
			return result, err
		})),
		legal("nothing-has-values", "nothing has values", completion(func(_ jsontext.Value, result any, err *refserver.Error) (any, *refserver.Error) {
			if err != nil {
				return nil, err
			}
			return jsontext.Value(`{"completion":{"values":[]}}`), nil
		})),
	}
}

// longName is a name of 128 characters that ends in name; longer, where name is
// so long itself that it is none of this server's.
func longName(name string) string {
	const head = "Aa0.-_"
	return head + strings.Repeat("z", max(0, 128-len(head)-2-len(name))) + "__" + name
}

// onNamed refuses requests by the name in their params.
func onNamed(method string, f func(name string) *refserver.Error) refserver.Seams {
	return Handle(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		name, ok := wire.Text(wire.At(c.Params, "/name"))
		if !ok || !session(c) {
			return next(c)
		}
		return nil, f(name)
	})
}
