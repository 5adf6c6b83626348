package faults

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalServerRequests returns the legal variations in the requests to the client.
func legalServerRequests() []*Fault {
	newer := []spec.Revision{spec.V20250618, spec.V20251125}
	form := func(params string) *refserver.Seams {
		return requestIf(acceptsForms, spec.MethodElicit, rawJSON(params))
	}
	return []*Fault{
		newVariation("roots-never-asked", "only a tool requests the roots", combineSeams(dropMessages(func(o *refserver.Out) bool {
			return IsServerRequest(o) && o.Method == spec.MethodRootsList && !o.Related.IsPresent()
		}), &refserver.Seams{RequestTimeout: noTimeout})).inRevisions(spec.V20250618),
		newVariation("asks-at-once", "the server requests sampling and elicitation right after notifications/initialized, as far as declared", combineSeams(
			requestIfDeclared("sampling", spec.MethodSampling, samplingParams), form(aForm),
			requestIf(declares("elicitation", "url"), spec.MethodElicit, rawJSON(aPage)),
		)).inRevisions(newer...),
		newVariation("form-refused-in-words", "a tool that gets an invalid form says so only in its text", askColour("ask-elicitation", func(colour string) any {
			if colour != "red" && colour != "blue" {
				return textResult(colour + " is not a colour that was offered.")
			}
			return textResult("You like " + colour + ".")
		})).inRevisions(newer...),
		newVariationWithState("form-once", "a tool that got an invalid form refuses every later form", func() *refserver.Seams {
			var wrong atomic.Bool
			return askColour("ask-elicitation", func(colour string) any {
				if wrong.Swap(wrong.Load() || colour != "red" && colour != "blue") {
					return map[string]any{"isError": true, "content": []any{textBlock("You have had your chance.")}}
				}
				return textResult("You like " + colour + ".")
			})
		}).inRevisions(newer...),
		newVariation("form-by-name", "elicitation by form has the explicit mode form", editSentParams(spec.MethodElicit, func(p map[string]any) {
			if p["mode"] == nil {
				p["mode"] = "form"
			}
		})).inRevisions(spec.V20251125),
		newVariation("form-near-secrets", "a form has fields whose names resemble secrets, and example URLs", form(`{
			"message":"Where is it? For example https://example.com/it, or http://localhost:8080/.",
			"requestedSchema":{"type":"object","properties":{
				"password":{"type":"boolean","title":"Protect it by a password"},"token_count":{"type":"integer"},"passwordHint":{"type":"string"},
				"key":{"type":"string","enum":["C","D"]},"email":{"type":"string","format":"email"},"username":{"type":"string"},
				"home":{"type":"string","format":"uri","description":"Such as https://www.acme.com/"}}}}`)).inRevisions(newer...),
		newVariation("page-at-home", "the server elicits a URL on the user's machine twice, with the same elicitationId", onInitialized(func(s *refserver.Session) {
			s.Go(func(ctx context.Context) {
				for range 2 {
					if s.ClientDeclared("elicitation", "url") {
						_, _ = s.SendRequest(ctx, wire.ID{}, spec.MethodElicit, rawJSON(`{"mode":"url","message":"Please look.","elicitationId":"e1","url":"http://127.0.0.1:4711/visit?user=1"}`))
						s.Notify(spec.MethodElicitDone, map[string]any{"elicitationId": "e1"})
					}
				}
			})
		})).inRevisions(spec.V20251125),
		newVariation("no-context", "sampling has includeContext none", editSentParams(spec.MethodSampling, setValue("includeContext", "none"))).inRevisions(newer...),
		newVariation("no-tools", "sampling has an empty list of tools", editSentParams(spec.MethodSampling, func(p map[string]any) {
			if p["tools"] == nil {
				p["tools"] = []any{}
			}
		})).inRevisions(spec.V20251125),
		newVariation("results-in-another-order", "tool_result blocks are in another order than their tool_use blocks", editMessagesWithBlock("tool_result", func(m map[string]any) {
			blocks := slices.Clone(m["content"].([]any))
			slices.Reverse(blocks)
			m["content"] = blocks
		})).inRevisions(spec.V20251125),
		newVariation("short-memory", "the sampling history is truncated at the beginning", editMessages(func(messages []map[string]any) []map[string]any {
			if n := len(messages); n > 2 && hasBlock(messages[n-2], "tool_use") {
				return messages[n-2:]
			}
			return messages
		})).inRevisions(spec.V20251125),
		newVariation("loop-ended-at-once", "the server ends a sampling loop although the model requests tool use", wrapTool("ask-sampling-tools", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if !c.ClientDeclared("sampling", "tools") {
				return next(c)
			}
			_, _ = c.SendRequest(spec.MethodSampling, samplingParamsWith("tools", rawJSON(weatherTools)))
			return map[string]any{"content": []any{textBlock("It never came to that.")}}, nil
		})).inRevisions(spec.V20251125),
		newVariation("refusals-as-errors", "a tool whose request to the client fails returns a JSON-RPC error", WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			name, _ := wire.Text(wire.At(c.Params, "/name"))
			result, err := next(c)
			if err == nil && len(name) > 4 && name[:4] == "ask-" && wire.At(wire.JSON(result), "/isError") != nil {
				return nil, &refserver.Error{Code: spec.CodeInternal, Message: firstText(result)}
			}
			return result, err
		})).inRevisions(newer...),
	}
}
