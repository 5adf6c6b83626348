package faults

import (
	"bytes"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func multiRoundFaults() []*Fault {
	const supported, either, kinds, declared = "mrtr.supported-requests-only/", "mrtr.inputs-or-state/", "mrtr.input-request-kinds/", "mrtr.only-declared-capabilities/"
	required := editInputRequired
	eachInput := func(e edit) *refserver.Seams {
		return required(func(r map[string]any) {
			inputs, _ := r["inputRequests"].(map[string]any)
			for _, v := range inputs {
				if m, ok := v.(map[string]any); ok {
					e(m)
				}
			}
		})
	}
	roots := map[string]any{"a": map[string]any{"method": spec.MethodRootsList}}
	asks := map[string]any{"resultType": "input_required", "inputRequests": roots}
	return []*Fault{
		newFault(supported+"list", "tools/list with a cursor requires input", WrapHandler(spec.MethodToolsList, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if wire.At(c.Params, "/cursor") != nil { // so that the first page still lists tools
				return asks, nil
			}
			return next(c)
		})),
		newFault(supported+"completion", "completion/complete requires input", replaceResult(spec.MethodComplete, string(wire.JSON(asks)))),

		newFault(either+"neither", "a result that requires input has neither inputRequests nor requestState", required(omitMembers("inputRequests", "requestState"))),
		newFault(either+"empty", "a result that requires input has no requestState, and inputRequests are empty", required(func(r map[string]any) {
			delete(r, "requestState")
			r["inputRequests"] = map[string]any{}
		})),

		newFault(kinds+"ping", "the server requires a ping as input", required(setValue("inputRequests", map[string]any{"a": map[string]any{"method": "ping"}}))),
		newFault(kinds+"with-id", "requests for input have an id and a version, like messages", eachInput(func(m map[string]any) { m["jsonrpc"], m["id"] = "2.0", 1 })),

		newFault("mrtr.input-request-keys-unique/twice", "inputRequests have the same key twice", EditBytes(Results(spec.MethodToolsCall), func(frame []byte) []byte {
			return bytes.Replace(frame, []byte(`"inputRequests":{`), []byte(`"inputRequests":{"input-1":{"method":"roots/list"},`), 1)
		})),

		newFault(declared+"roots", "a call for which the client lacks a capability requires roots from it", WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil && err.Code == spec.CodeMissingClientCap {
				return asks, nil
			}
			return result, err
		})),

		newFault("mrtr.retry-completes/refused", "every retry gets an error", refuseRetries(always)),

		newFault("mrtr.missing-input-asked-again/error", "a retry without responses gets an error", refuseRetries(func(c *refserver.Call) bool {
			return wire.At(c.Params, "/inputResponses") == nil
		})),
		newFault("mrtr.unexpected-input-ignored/refused", "a retry with an unknown key gets an error", refuseRetries(func(c *refserver.Call) bool {
			names, _ := wire.Members(wire.At(c.Params, "/inputResponses"))
			for _, name := range names {
				if !strings.HasPrefix(name, "input-") {
					return true
				}
			}
			return false
		})),
		newFault("mrtr.malformed-input-error/array", "the server accepts an array as inputResponses", completeRetries(func(responses jsontext.Value) bool { return responses.Kind() == '[' })),
		newFault("mrtr.validate-input-responses/texts", "the server accepts strings as input responses", completeRetries(func(responses jsontext.Value) bool {
			_, values := wire.Members(responses)
			for _, v := range values {
				if v.Kind() == '"' {
					return true
				}
			}
			return false
		})),
		newFault("mrtr.validate-input-responses/anything", "the server accepts any input response", completeRetries(func(responses jsontext.Value) bool {
			return bytes.Contains(responses, []byte("com.example"))
		})),

		newFaultWithState("mrtr.request-state-tampered/shown", "an unprotected part of requestState is shown in the result", func() *refserver.Seams { return greetByState("Hello") }),
		newFaultWithState("mrtr.request-state-tampered/number", "an unprotected number in requestState is shown in the result", func() *refserver.Seams { return greetByState(3) }),
		newFaultWithState("mrtr.request-state-tampered/flag", "an unprotected boolean in requestState decides whether the result says more", func() *refserver.Seams {
			return keepInState(false, func(value any) string {
				if value == true {
					return "You are the administrator."
				}
				return "You are a guest."
			})
		}),
		newFaultWithState("mrtr.request-state-tampered/signature-optional", "the signature of a requestState is verified only if there is one", func() *refserver.Seams {
			return keepSigned(func(signature, right string) bool { return signature == "" || signature == "."+right })
		}),
		newFaultWithState("mrtr.request-state-tampered/signature-prefix", "of the signature of a requestState only as many bytes are compared as the client sends", func() *refserver.Seams {
			return keepSigned(func(signature, right string) bool { return signature != "" && strings.HasPrefix("."+right, signature) })
		}),
		newFaultWithState("mrtr.request-state-tampered/any", "any requestState counts as the last one that the server sent", func() *refserver.Seams { return takeAnyState(false) }),
		newFault("mrtr.request-state-attacker-controlled/number", "a requestState that is a number ends the process", exitOnRequest("", func(c *refserver.Call) bool {
			return wire.At(c.Params, "/requestState").Kind() == '0'
		})).overTransports(spec.Stdio),
		newFault("mrtr.request-state-attacker-controlled/long", "a long requestState ends the process", exitOnRequest("", func(c *refserver.Call) bool {
			return len(wire.At(c.Params, "/requestState")) > 32<<10
		})).overTransports(spec.Stdio),
		newFaultWithState("mrtr.request-state-bound-to-request/any", "the requestState of any call is accepted for every other call", func() *refserver.Seams { return takeAnyState(true) }),
		newFault("mrtr.request-state-bound-to-request/arguments", "the requestState of a call is accepted with another value of an argument that is shown in the result", takeGreeting(true)),

		newFaultWithState("mrtr.no-assumption-of-retry/full", "after five results that require input and get no retry, the server refuses to require more", countOpenRounds),
		newFaultWithState("mrtr.no-assumption-of-retry/pending", "a call is refused while an earlier one of the same tool has got no retry", refuseWhilePending),
		newFaultWithState("mrtr.retry-self-contained/process", "a retry is accepted only by the process that got the first request", bindToSession).overTransports(spec.Stdio),
	}
}

// legalMultiRound returns the legal variations in multi-round trips.
func legalMultiRound() []*Fault {
	return limitRevisions(spec.StatelessRevisions(),
		newVariation("odd-keys", "keys of inputRequests are odd strings", renameInputs(func(key string) string { return "~1/" + key + " \u00e9" })),
		newVariation("empty-key", "one of the keys of inputRequests is empty", renameInputs(func(key string) string { return strings.TrimPrefix(key, "input-1") })),
		newVariationWithState("states-respelled", "requestState has characters outside of ASCII", func() *refserver.Seams {
			return wrapState(func(state string) string { return "é☃" + state }, func(state string) string { return strings.TrimPrefix(state, "é☃") })
		}),
		newVariationWithState("asks-once-more", "the first retry gets a result that requires another retry, with a requestState and no requests", askOnceMore),
		withTwoUsers(newVariation("states-unprotected", "any requestState is accepted, because nothing depends on it", &refserver.Seams{
			Protection: refserver.ProtectionSeams{AnyState: true},
		})),
		newVariation("contents-refused", "a retry whose input has a name that the server does not know gets -32602", refuseRetries(acceptsNamedContent)),
		newVariation("needs-sampling-later", "a call needs sampling once its input is complete, and gets -32021 from a client without it", needSamplingAfterInput()),
		newVariationWithState("states-signed", "a part of a signed requestState is shown in the result, and a state without a signature counts as none", func() *refserver.Seams {
			return combineSeams(keepSigned(func(signature, right string) bool { return signature == "."+right }), passOverUnsigned())
		}),
		newVariation("states-of-any-greeting", "the requestState of a call is accepted with another value of an argument that does not matter", takeGreeting(false)),
		newVariationWithState("states-once", "each requestState is accepted only once", refuseUsedStates),
		newVariation("errors-for-foreign-states", "a state that the server did not send gets an internal error", setErrorCode(func(o *refserver.Out) bool {
			return errorsWithID(spec.CodeInvalidParams)(o) && bytes.Contains(o.Frames[0], []byte("requestState"))
		}, "-32603")),
	)
}

// requiresInput reports whether a result requires input.
func requiresInput(result any) bool {
	return bytes.Contains(wire.JSON(result), []byte(`"input_required"`))
}

// editInputRequired edits the results of calls that require input.
func editInputRequired(e edit) *refserver.Seams {
	var all []*refserver.Seams
	for _, method := range []string{spec.MethodToolsCall, spec.MethodPromptsGet, spec.MethodResourcesRead} {
		all = append(all, EditResult(method, ifInputRequired(e)))
	}
	return combineSeams(all...)
}

// isRetry reports whether a request has inputResponses or a requestState.
func isRetry(c *refserver.Call) bool {
	return wire.At(c.Params, "/inputResponses") != nil || wire.At(c.Params, "/requestState") != nil
}

// refuseRetries refuses, with -32602, the retries for which the function when returns true.
func refuseRetries(when func(c *refserver.Call) bool) *refserver.Seams {
	return refuseCalls("", func(c *refserver.Call) bool { return isRetry(c) && when(c) }, spec.CodeInvalidParams, "This can't be retried")
}

// acceptsNamedContent reports whether a request has an input response whose content has a name.
func acceptsNamedContent(c *refserver.Call) bool {
	_, responses := wire.Members(wire.At(c.Params, "/inputResponses"))
	for _, v := range responses {
		if wire.At(v, "/content/name").Kind() == '"' {
			return true
		}
	}
	return false
}

// needSamplingAfterInput refuses the retries that would otherwise get a complete result, unless the
// client declares sampling.
func needSamplingAfterInput() *refserver.Seams {
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil || !isRetry(c) || c.ClientDeclared("sampling") || requiresInput(result) {
			return result, err
		}
		return nil, &refserver.Error{
			Code: spec.CodeMissingClientCap, Message: "This needs sampling",
			Data: map[string]any{"requiredCapabilities": map[string]any{"sampling": map[string]any{}}},
		}
	})
}

// completeRetries returns a complete result for the retries of tools/call whose inputResponses
// match.
func completeRetries(when func(responses jsontext.Value) bool) *refserver.Seams {
	return WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if responses := wire.At(c.Params, "/inputResponses"); responses == nil || !when(responses) {
			return result, err
		}
		return map[string]any{"resultType": "complete", "content": []any{map[string]any{"type": "text", "text": "Thank you."}}}, nil
	})
}

// countOpenRounds sends an error instead of a result that requires input, while five earlier such
// results have not been followed by a retry.
func countOpenRounds() *refserver.Seams {
	var open atomic.Int64
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if isRetry(c) {
			open.Add(-1)
			return next(c)
		}
		result, err := next(c)
		if err != nil || !requiresInput(result) {
			return result, err
		}
		if open.Add(1) > 5 {
			return nil, &refserver.Error{Code: spec.CodeInternal, Message: "Earlier requests wait for input"}
		}
		return result, nil
	})
}

// refuseWhilePending refuses calls of a tool whose last result required input, until a retry.
func refuseWhilePending() *refserver.Seams {
	var pending sync.Map // by tool
	return WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		name, _ := wire.Text(wire.At(c.Params, "/name"))
		if _, waits := pending.Load(name); waits && !isRetry(c) {
			return nil, &refserver.Error{Code: spec.CodeInvalidRequest, Message: "This call already waits for input"}
		}
		pending.Delete(name)
		result, err := next(c)
		if err == nil && requiresInput(result) {
			pending.Store(name, true)
		}
		return result, err
	})
}

// renameInputs changes the keys of inputRequests, and restores them in the retry.
func renameInputs(rename func(key string) string) *refserver.Seams {
	return combineSeams(
		WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if wire.At(c.Params, "/inputResponses").Kind() == '{' {
				params := decodeObject(c.Params)
				out := map[string]any{}
				for key, v := range params["inputResponses"].(map[string]any) {
					for _, own := range []string{"input-1", "input-2", "input-3", "input-4"} {
						if key == rename(own) {
							key = own
							break
						}
					}
					out[key] = v
				}
				params["inputResponses"] = out
				c.Params = wire.JSON(params)
			}
			return next(c)
		}),
		editInputRequired(ifHas("inputRequests", func(r map[string]any) {
			out := map[string]any{}
			for key, v := range r["inputRequests"].(map[string]any) {
				out[rename(key)] = v
			}
			r["inputRequests"] = out
		})),
	)
}

// askOnceMore returns another requestState, without requests, in place of the complete result of a
// retry. The retry with that state gets the complete result.
func askOnceMore() *refserver.Seams {
	var held sync.Map // results, by state
	var n atomic.Int64
	return WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		state, _ := wire.Text(wire.At(c.Params, "/requestState"))
		if result, ok := held.LoadAndDelete(state); ok {
			return result, nil
		}
		result, err := next(c)
		if err != nil || state == "" || requiresInput(result) {
			return result, err
		}
		again := "again-" + string(wire.JSON(n.Add(1)))
		held.Store(again, result)
		return map[string]any{"resultType": "input_required", "requestState": again, "_meta": decodeObject(result)["_meta"]}, nil
	})
}

func foreignStateFaults() []*Fault {
	return []*Fault{
		withTwoUsers(newFault("mrtr.request-state-principal/any-user", "a requestState is accepted from every user", &refserver.Seams{
			Protection: refserver.ProtectionSeams{AnyUserState: true},
		})),
	}
}
