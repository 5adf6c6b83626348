package faults

import (
	"context"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalRequestShapes returns the legal variations in the shape of notifications and of
// the server's requests.
func legalRequestShapes() []*Fault {
	const log, progress, sampling, elicit = spec.MethodMessage, spec.MethodProgress, spec.MethodSampling, spec.MethodElicit
	newer := sinceRevision(spec.V20250618)
	form := func(e edit) *refserver.Seams {
		return editSentParams(elicit, ifHas("requestedSchema", editMember("requestedSchema", e)))
	}
	field := func(e edit) *refserver.Seams { return form(editMember("properties", e)) }
	return []*Fault{
		newVariationWithState("log-data", "log messages have data of every kind and loggers of any name", func() *refserver.Seams {
			var n atomic.Int64
			data := []any{nil, false, 0, rawJSON("1.50e+2"), "", []any{}, map[string]any{"a": []any{nil}}}
			return editSentParams(log, func(p map[string]any) {
				i := int(n.Add(1))
				p["data"], p["logger"] = data[i%len(data)], ""
				if i%2 == 0 {
					delete(p, "logger")
				}
			})
		}),
		newVariation("notification-extras", "notifications have _meta and members that no revision defines", editAllSentParams(applyBoth(
			editMember("_meta", setValue("com.example/at", 1)), setValue("x-more", nil)), log, progress, spec.MethodResourcesUpdated, spec.MethodToolsChanged, spec.MethodPromptsChanged,
			spec.MethodResourcesChanged, spec.MethodElicitDone)),
		newVariation("list-changed-params", "list_changed notifications have empty params", editAllSentParams(func(map[string]any) {},
			spec.MethodToolsChanged, spec.MethodPromptsChanged, spec.MethodResourcesChanged)),
		newVariation("progress-bare", "progress has neither total nor message", editSentParams(progress, omitMembers("total", "message"))),
		newVariation("progress-numbers", "progress is in decimal and exponent notation, and exceeds its total", editSentParams(progress, func(p map[string]any) {
			if n, ok := p["progress"].(interface{ String() string }); ok {
				p["progress"], p["total"] = rawJSON(n.String()+".50"), rawJSON("1e0")
			}
		})),
		newVariation("cancel-without-reason", "cancellations give no reason", editSentParams(spec.MethodCancelled, omitMembers("reason"))),

		newVariation("roots-params", "roots/list has empty params, or only _meta", combineSeams(
			requestIfDeclared("roots", spec.MethodRootsList, rawJSON("{}")), requestIfDeclared("roots", spec.MethodRootsList, rawJSON(`{"_meta":{}}`)),
			requestIfDeclared("roots", spec.MethodRootsList, rawJSON(`{"_meta":{"progressToken":"roots","com.example/x":null}}`)))),
		newVariation("sampling-bare", "sampling has only the required members", editSentParams(sampling, func(p map[string]any) {
			for name := range p {
				if name != "messages" && name != "maxTokens" {
					delete(p, name)
				}
			}
		})),
		newVariation("sampling-odd", "sampling has no messages, empty lists, no hints and undefined members", editSentParams(sampling, func(p map[string]any) {
			p["messages"], p["stopSequences"], p["metadata"], p["x-more"] = []any{}, []any{}, map[string]any{"a": nil}, nil
			p["modelPreferences"] = map[string]any{"hints": []any{map[string]any{}, map[string]any{"x": 1}}, "costPriority": rawJSON("1.0"), "speedPriority": 0}
			p["maxTokens"], p["temperature"], p["systemPrompt"] = rawJSON("1e2"), rawJSON("-0.0"), ""
		})),
		newVariation("sampling-content-empty", "messages of sampling have an empty array as content", editSentParams(sampling, editItems("messages", setValue("content", []any{})))).inRevisions(spec.V20251125),
		newVariation("sampling-content-one", "messages of sampling have an array of one block as content, with _meta", editSentParams(sampling, editItems("messages",
			setValue("content", rawJSON(`[{"type":"text","text":"","_meta":{},"annotations":{},"x":1}]`))))).inRevisions(spec.V20251125),
		newVariation("form-empty", "a form has no fields", form(applyBoth(setValue("properties", map[string]any{}), setValue("required", []any{})))).inRevisions(newer...),
		newVariation("form-odd", "form fields have no title, undefined members, empty strings and decimal bounds", field(func(p map[string]any) {
			clear(p)
			p[""] = rawJSON(`{"type":"string"}`)
			p["a b/ç"] = rawJSON(`{"type":"string","minLength":0.0,"maxLength":1e2,"description":"","x-order":1}`)
			p["enum"] = rawJSON(`{"type":"string","enum":["","a","a "],"title":""}`)
			p["flag"] = rawJSON(`{"type":"boolean","default":true}`)
			p["whole"] = rawJSON(`{"type":"integer","minimum":-1.0,"maximum":10.0}`)
			p["name"] = rawJSON(`{"type":"string"}`)
		})).inRevisions(newer...),
		newVariation("form-names", "a form field has enumNames", field(func(p map[string]any) {
			p["colour"] = rawJSON(`{"type":"string","enum":["r","g"],"enumNames":["Red","Green"]}`)
		})).inRevisions(newer...),
		newVariation("form-dialect", "a form declares its dialect, and a field has a pattern", combineSeams(
			form(setValue("$schema", "https://json-schema.org/draft/2020-12/schema")),
			field(setValue("code", rawJSON(`{"type":"string","pattern":"^[a-z]+$"}`))))).inRevisions(spec.V20251125),
		newVariation("form-optional", "a form has an empty required list", form(setValue("required", []any{}))).inRevisions(newer...),
		newVariation("visit-first", "a call gets error -32042", WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			name, _ := wire.Text(wire.At(c.Params, "/name"))
			if name != "ask-elicitation-url" || !c.ClientDeclared("elicitation", "url") {
				return next(c)
			}
			return nil, &refserver.Error{Code: spec.CodeURLElicitation, Message: "A page has to be visited first", Data: rawJSON(`{"elicitations":[
				{"mode":"url","message":"Please look.","url":"https://example.com/visit","elicitationId":"visit-1","x-more":1}],"x-more":null}`)}
		})).inRevisions(spec.V20251125),
	}
}

// editAllSentParams is like editSentParams for several methods.
func editAllSentParams(e edit, methods ...string) *refserver.Seams {
	var several []*refserver.Seams
	for _, m := range methods {
		several = append(several, editSentParams(m, e))
	}
	return combineSeams(several...)
}

// requestIfDeclared sends a request to the client after notifications/initialized if the client
// declared the capability.
func requestIfDeclared(capability, method string, params any) *refserver.Seams {
	return onInitialized(func(s *refserver.Session) {
		if s.ClientDeclared(capability) {
			s.Go(func(ctx context.Context) { _, _ = s.SendRequest(ctx, wire.ID{}, method, params) })
		}
	})
}
