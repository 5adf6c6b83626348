package faults

import (
	"context"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalAsking are the odd and permitted ways to ask a client.
func legalAsking() []Fault {
	newer := []spec.Revision{spec.V20250618, spec.V20251125}
	form := func(params string) refserver.Seams {
		takes := func(s *refserver.Session) bool {
			return s.Declared("elicitation") && (s.Declared("elicitation", "form") || !s.Declared("elicitation", "url"))
		}
		return asksWhere(takes, spec.MethodElicit, raw(params))
	}
	return []Fault{
		legal("roots-never-asked", "the roots are asked for by a tool alone", together(mute(func(o *refserver.Out) bool {
			return Requests(o) && o.Method == spec.MethodRootsList && !o.Related.Present()
		}), refserver.Seams{RequestTimeout: patient})).in(spec.V20250618),
		legal("asks-at-once", "the client is asked for all that it has declared as soon as it is ready", together(
			asksIf("sampling", spec.MethodSampling, samplingParams), form(aForm),
			asksWhere(declares("elicitation", "url"), spec.MethodElicit, raw(aPage)),
		)).in(newer...),
		legal("form-by-name", "forms say that they are forms", sent(spec.MethodElicit, func(p map[string]any) {
			if p["mode"] == nil {
				p["mode"] = "form"
			}
		})).in(spec.V20251125),
		legal("form-near-secrets", "a form has fields that only sound like secrets, and addresses that lead nowhere", form(`{
			"message":"Where is it? For example https://example.com/it, or http://localhost:8080/.",
			"requestedSchema":{"type":"object","properties":{
				"password":{"type":"boolean","title":"Protect it by a password"},"token_count":{"type":"integer"},"passwordHint":{"type":"string"},
				"key":{"type":"string","enum":["C","D"]},"email":{"type":"string","format":"email"},"username":{"type":"string"},
				"home":{"type":"string","format":"uri","description":"Such as https://www.acme.com/"}}}}`)).in(newer...),
		legal("page-at-home", "the user is sent to a page on his own machine, twice by the same id", onceReady(func(s *refserver.Session) {
			s.Go(func(ctx context.Context) {
				for range 2 {
					if s.Declared("elicitation", "url") {
						_, _ = s.SendRequest(ctx, wire.ID{}, spec.MethodElicit, raw(`{"mode":"url","message":"Please look.","elicitationId":"e1","url":"http://127.0.0.1:4711/visit?user=1"}`))
						s.Notify(spec.MethodElicitDone, map[string]any{"elicitationId": "e1"})
					}
				}
			})
		})).in(spec.V20251125),
		legal("no-context", "sampling asks for no context by name", sent(spec.MethodSampling, put("includeContext", "none"))).in(newer...),
		legal("no-tools", "a model is offered no tools by an empty list", sent(spec.MethodSampling, func(p map[string]any) {
			if p["tools"] == nil {
				p["tools"] = []any{}
			}
		})).in(spec.V20251125),
		legal("results-in-another-order", "the results of tools come in another order than their uses", inHistory("tool_result", func(m map[string]any) {
			blocks := slices.Clone(m["content"].([]any))
			slices.Reverse(blocks)
			m["content"] = blocks
		})).in(spec.V20251125),
		legal("short-memory", "the history of a loop of tools is cut at its beginning", editMessages(func(messages []map[string]any) []map[string]any {
			if n := len(messages); n > 2 && holds(messages[n-2], "tool_use") {
				return messages[n-2:]
			}
			return messages
		})).in(spec.V20251125),
		legal("loop-ended-at-once", "a model that wants to use tools does not get to", calling("ask-sampling-tools", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if !c.Session.Declared("sampling", "tools") {
				return next(c)
			}
			_, _ = c.SendRequest(spec.MethodSampling, samplingWith("tools", raw(weatherTools)))
			return map[string]any{"content": []any{textBlock("It never came to that.")}}, nil
		})).in(spec.V20251125),
		legal("refusals-as-errors", "a tool that gets no answer from the client ends in an error", Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			name, _ := wire.Text(wire.At(c.Params, "/name"))
			result, err := next(c)
			if err == nil && len(name) > 4 && name[:4] == "ask-" && wire.At(wire.JSON(result), "/isError") != nil {
				return nil, &refserver.Error{Code: spec.CodeInternal, Message: text(result)}
			}
			return result, err
		})).in(newer...),
	}
}
