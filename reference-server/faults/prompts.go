package faults

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

const aPrompt = `{"messages":[{"role":"user","content":{"type":"text","text":"Say hello."}}]}`

// promptFaults are those in what is offered as prompts.
func promptFaults() []Fault {
	const changed = `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`
	refusedList := refuse(spec.MethodPromptsList, session, spec.CodeMethodNotFound, "Method not found")
	anyGet := func(result string) refserver.Seams {
		return Handle(spec.MethodPromptsGet, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if session(c) {
				return jsontext.Value(result), nil
			}
			return next(c)
		})
	}
	coded := func(part string, code spec.Code) refserver.Seams {
		return onPromptError(part, func(err *refserver.Error) (any, *refserver.Error) {
			return nil, &refserver.Error{Code: code, Message: err.Message}
		})
	}
	taken := func(part string) refserver.Seams {
		return onPromptError(part, func(*refserver.Error) (any, *refserver.Error) { return jsontext.Value(aPrompt), nil })
	}
	const unknown, lacking, noText, noName = "no such prompt", "is required", "must be strings", "name must be"
	return []Fault{
		breaks("prompts.capability.declared/missing", "prompts are listed and served, and not declared", undeclared("prompts")),
		breaks("prompts.capability.declared/unlisted", "prompts are not declared, their list is refused, and any is served", together(undeclared("prompts"), refusedList, anyGet(aPrompt))),
		breaks("prompts.list.answered/internal-error", "prompts/list gets an internal error", refuse(spec.MethodPromptsList, session, spec.CodeInternal, "Internal error")),
		breaks("prompts.list.answered/unknown-method", "prompts/list is an unknown method", refusedList),
		breaks("prompts.list.params-optional/refused", "prompts/list is refused without params", refuse(spec.MethodPromptsList, noParams, spec.CodeInvalidParams, "params are required")),
		breaks("prompts.name.unique/twice", "two prompts have the same name", editPrompt("greeting", func(p map[string]any) { p["name"] = "hello" })),
		breaks("prompts.name.unique/on-another-page", "prompts on different pages have the same name", editPrompt("document", func(p map[string]any) { p["name"] = "hello" })),
		breaks("prompts.list-changed.only-if-declared-2024-11-05/no-flag", "changes to the list of prompts are announced but not declared",
			together(capabilityOf("prompts", map[string]any{}), sendsWhenReady(changed))),
		breaks("prompts.list-changed.only-if-declared-2025-06-18/flag-false", "changes to the list of prompts are announced though listChanged is false",
			together(capabilityOf("prompts", map[string]any{"listChanged": false}), sendsWhenReady(changed))),
		breaksAfresh("prompts.list-changed.sent-on-change-2024-11-05/silent", "a prompt goes away without a word", func() refserver.Seams {
			return goes(spec.MethodPromptsList, "prompts", "hello")
		}),

		breaksAfresh("prompts.list-changed.sent-on-change-2024-11-05/removed", "a prompt is removed again without a word", everySecondMuted(spec.MethodPromptsChanged)).over(spec.Stdio),

		breaks("prompts.get.listed-is-gettable/renamed", "prompts are listed by other names than they are served by", EditResult(spec.MethodPromptsList, func(r map[string]any) {
			for _, p := range items(r, "prompts") {
				p["name"] = p["name"].(string) + "_v2"
			}
		})),
		breaks("prompts.get.listed-is-gettable/unknown-method", "prompts/get is an unknown method", refuse(spec.MethodPromptsGet, session, spec.CodeMethodNotFound, "Method not found")),
		breaks("prompts.get.listed-is-gettable/promised", "a prompt that the official suite knows is refused with an internal error",
			together(offersTools(official(nil)), offersPrompt("test_simple_prompt", ""))),
		breaks("prompts.get.arguments-optional/refused", "a prompt is refused without arguments", refuse(spec.MethodPromptsGet, noArguments, spec.CodeInvalidParams, "arguments must be an object")),
		breaks("prompts.get.arguments-optional/internal-error", "a prompt without arguments gets an internal error", refuse(spec.MethodPromptsGet, noArguments, spec.CodeInternal, "Internal error")),
		breaks("prompts.get.unknown-name/served", "unknown prompts are served", taken(unknown)),
		breaks("prompts.get.unknown-name/method-not-found", "unknown prompts get -32601", coded(unknown, spec.CodeMethodNotFound)),
		breaks("prompts.get.unknown-name/zero", "unknown prompts get error code 0", coded(unknown, 0)),
		breaks("prompts.get.missing-required-argument/served", "prompts are served without what they require", taken(lacking)),
		breaks("prompts.get.missing-required-argument/internal-error", "prompts without what they require get -32603", coded(lacking, spec.CodeInternal)),
		breaks("prompts.get.validates-arguments/taken", "prompts are served with arguments that are no text", taken(noText)),
		breaks("prompts.get.missing-name/served", "a prompt is served that was not named", taken(noName)),
		breaks("prompts.get.missing-name/internal-error", "a request that names no prompt gets -32603", coded(noName, spec.CodeInternal)),
		breaks("prompts.get.not-supported-error/no-messages", "prompts are not declared, and are served without messages",
			together(undeclared("prompts"), refusedList, anyGet(`{"messages":[]}`))),
	}
}

// offersPrompt lists one prompt more; it gets the result, and an internal error
// where that is "".
func offersPrompt(name, result string) refserver.Seams {
	return together(
		Handle(spec.MethodPromptsList, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			listed, err := next(c)
			if err != nil || wire.At(c.Params, "/cursor") != nil {
				return listed, err
			}
			page := plain(listed)
			prompts, _ := page["prompts"].([]any)
			page["prompts"] = append(prompts, map[string]any{"name": name})
			return page, nil
		}),
		Handle(spec.MethodPromptsGet, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			switch asked, _ := wire.Text(wire.At(c.Params, "/name")); {
			case asked != name:
				return next(c)
			case result == "":
				return nil, &refserver.Error{Code: spec.CodeInternal, Message: "Internal error"}
			}
			return jsontext.Value(result), nil
		}),
	)
}

// editPrompt rewrites a prompt in prompts/list.
func editPrompt(name string, edit func(p map[string]any)) refserver.Seams {
	return EditResult(spec.MethodPromptsList, func(r map[string]any) {
		for _, p := range items(r, "prompts") {
			if p["name"] == name {
				edit(p)
			}
		}
	})
}

// onPromptError answers what prompts/get refuses with these words otherwise.
func onPromptError(words string, f func(err *refserver.Error) (any, *refserver.Error)) refserver.Seams {
	return onErrors(spec.MethodPromptsGet, words, f)
}

func onErrors(method, words string, f func(err *refserver.Error) (any, *refserver.Error)) refserver.Seams {
	return Handle(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil && c.Params != nil && strings.Contains(err.Message, words) {
			return f(err)
		}
		return result, err
	})
}
