package faults

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

const aPrompt = `{"messages":[{"role":"user","content":{"type":"text","text":"Say hello."}}]}`

// promptFaults returns the faults in prompts/list and prompts/get.
func promptFaults() []*Fault {
	const changed = `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`
	refusedList := refuseCalls(spec.MethodPromptsList, isInitialized, spec.CodeMethodNotFound, "Method not found")
	anyGet := func(result string) *refserver.Seams {
		return WrapHandler(spec.MethodPromptsGet, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if isInitialized(c) {
				return jsontext.Value(result), nil
			}
			return next(c)
		})
	}
	coded := func(part string, code spec.Code) *refserver.Seams {
		return onPromptError(part, func(err *refserver.Error) (any, *refserver.Error) {
			return nil, &refserver.Error{Code: code, Message: err.Message}
		})
	}
	taken := func(part string) *refserver.Seams {
		return onPromptError(part, func(*refserver.Error) (any, *refserver.Error) { return jsontext.Value(aPrompt), nil })
	}
	const unknown, lacking, noText, noName = "no such prompt", "is required", "must be strings", "name must be"
	return []*Fault{
		newFault("prompts.capability.declared/missing", "prompts are listed and returned but not declared", withholdCapabilities("prompts")),
		newFault("prompts.capability.declared/unlisted", "prompts are not declared, prompts/list is refused, and prompts/get succeeds", combineSeams(withholdCapabilities("prompts"), refusedList, anyGet(aPrompt))),
		newFault("prompts.list.answered/internal-error", "prompts/list gets an internal error", refuseCalls(spec.MethodPromptsList, isInitialized, spec.CodeInternal, "Internal error")),
		newFault("prompts.list.answered/unknown-method", "prompts/list gets -32601", refusedList),
		newFault("prompts.list.params-optional/refused", "prompts/list is refused without params", refuseCalls(spec.MethodPromptsList, lacksParams, spec.CodeInvalidParams, "params are required")),
		newFault("prompts.name.unique/twice", "two prompts have the same name", editPrompt("greeting", func(p map[string]any) { p["name"] = "hello" })),
		newFault("prompts.name.unique/on-another-page", "prompts on different pages have the same name", editPrompt("document", func(p map[string]any) { p["name"] = "hello" })),
		newFault("prompts.list-changed.only-if-declared-2024-11-05/no-flag", "changes to the list of prompts are announced but not declared",
			combineSeams(setCapability("prompts", map[string]any{}), sendLineOnInitialized(changed))),
		newFault("prompts.list-changed.only-if-declared-2025-06-18/flag-false", "changes to the list of prompts are announced though listChanged is false",
			combineSeams(setCapability("prompts", map[string]any{"listChanged": false}), sendLineOnInitialized(changed))),
		newFaultWithState("prompts.list-changed.sent-on-change-2024-11-05/silent", "a prompt disappears without a notification", func() *refserver.Seams {
			return removeAfterWalk(spec.MethodPromptsList, "prompts", "hello")
		}),

		newFaultWithState("prompts.list.same-on-every-connection/alternating", "every second process leaves prompts out of its list", shortenPagesOfEverySecondServer(spec.MethodPromptsList)),
		newFaultWithState("prompts.list.no-side-effect-of-requests/forgets", "after a tools/call some prompts are no longer listed", forgetAfter(spec.MethodToolsCall, spec.MethodPromptsList)),
		newFault("prompts.list-changed.sent-on-change-2026-07-28/silent", "subscriptions get no notification of changes to the list of prompts", combineSeams(
			markReadOnly("trigger-list-changed"), dropMessages(notifications(spec.MethodPromptsChanged)))),
		newFaultWithState("prompts.list-changed.sent-on-change-2024-11-05/removed", "a prompt is removed again without a notification", dropEverySecond(spec.MethodPromptsChanged)).overTransports(spec.Stdio),

		newFault("prompts.get.listed-is-gettable/renamed", "prompts/list has other names than prompts/get accepts", EditResult(spec.MethodPromptsList, func(r map[string]any) {
			for _, p := range objectsIn(r, "prompts") {
				p["name"] = p["name"].(string) + "_v2"
			}
		})),
		newFault("prompts.get.listed-is-gettable/unknown-method", "prompts/get gets -32601", refuseCalls(spec.MethodPromptsGet, isInitialized, spec.CodeMethodNotFound, "Method not found")),
		newFault("prompts.get.listed-is-gettable/promised", "a prompt that the official suite knows is refused with an internal error",
			combineSeams(addFixedTools(officialResults(nil)), addPrompt("test_simple_prompt", ""))),
		newFault("prompts.get.arguments-optional/refused", "a prompt is refused without arguments", refuseCalls(spec.MethodPromptsGet, lacksArguments, spec.CodeInvalidParams, "arguments must be an object")),
		newFault("prompts.get.arguments-optional/internal-error", "a prompt without arguments gets an internal error", refuseCalls(spec.MethodPromptsGet, lacksArguments, spec.CodeInternal, "Internal error")),
		newFault("prompts.get.unknown-name/served", "prompts/get of an unknown prompt returns a result", taken(unknown)),
		newFault("prompts.get.unknown-name/method-not-found", "unknown prompts get -32601", coded(unknown, spec.CodeMethodNotFound)),
		newFault("prompts.get.unknown-name/zero", "unknown prompts get error code 0", coded(unknown, 0)),
		newFault("prompts.get.missing-required-argument/served", "prompts/get without required arguments returns a result", taken(lacking)),
		newFault("prompts.get.missing-required-argument/internal-error", "prompts/get without required arguments gets -32603", coded(lacking, spec.CodeInternal)),
		newFault("prompts.get.validates-arguments/taken", "prompts/get accepts arguments that are not strings", taken(noText)),
		newFault("prompts.get.missing-name/served", "prompts/get without a name returns a result", taken(noName)),
		newFault("prompts.get.missing-name/internal-error", "prompts/get without a name gets -32603", coded(noName, spec.CodeInternal)),
		newFault("prompts.get.not-supported-error/no-messages", "prompts are not declared, and prompts/get returns no messages",
			combineSeams(withholdCapabilities("prompts"), refusedList, anyGet(`{"messages":[]}`))),
	}
}

// addPrompt adds a prompt to the first page of the list. prompts/get of this prompt returns
// result, or an internal error if result is "".
func addPrompt(name, result string) *refserver.Seams {
	return combineSeams(
		WrapHandler(spec.MethodPromptsList, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			listed, err := next(c)
			if err != nil || wire.At(c.Params, "/cursor") != nil {
				return listed, err
			}
			page := decodeObject(listed)
			prompts, _ := page["prompts"].([]any)
			page["prompts"] = append(prompts, map[string]any{"name": name})
			return page, nil
		}),
		WrapHandler(spec.MethodPromptsGet, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
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

// editPrompt edits a prompt in the results of prompts/list.
func editPrompt(name string, edit func(p map[string]any)) *refserver.Seams {
	return EditResult(spec.MethodPromptsList, func(r map[string]any) {
		for _, p := range objectsIn(r, "prompts") {
			if p["name"] == name {
				edit(p)
			}
		}
	})
}

// onPromptError is onErrors for prompts/get.
func onPromptError(words string, f func(err *refserver.Error) (any, *refserver.Error)) *refserver.Seams {
	return onErrors(spec.MethodPromptsGet, words, f)
}

// onErrors calls f to replace error responses of a method, if their message contains the given
// words and the request has params.
func onErrors(method, words string, f func(err *refserver.Error) (any, *refserver.Error)) *refserver.Seams {
	return WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil && c.Params != nil && strings.Contains(err.Message, words) {
			return f(err)
		}
		return result, err
	})
}
