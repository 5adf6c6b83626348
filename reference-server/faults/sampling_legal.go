package faults

import (
	"context"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalAskedShapes are the legal variations in the shape of notifications and
// of the server's own requests.
func legalAskedShapes() []Fault {
	const log, progress, sampling, elicit = spec.MethodMessage, spec.MethodProgress, spec.MethodSampling, spec.MethodElicit
	newer := from(spec.V20250618)
	form := func(e edit) refserver.Seams {
		return sent(elicit, having("requestedSchema", inside("requestedSchema", e)))
	}
	field := func(e edit) refserver.Seams { return form(inside("properties", e)) }
	return []Fault{
		legalAfresh("log-data", "log messages hold data of every kind, and loggers of any name", func() refserver.Seams {
			var n atomic.Int64
			data := []any{nil, false, 0, raw("1.50e+2"), "", []any{}, map[string]any{"a": []any{nil}}}
			return sent(log, func(p map[string]any) {
				i := int(n.Add(1))
				p["data"], p["logger"] = data[i%len(data)], ""
				if i%2 == 0 {
					delete(p, "logger")
				}
			})
		}),
		legal("notification-extras", "notifications have _meta and members that no revision knows", sentAll(both(
			inside("_meta", put("com.example/at", 1)), put("x-more", nil)), log, progress, spec.MethodResourcesUpdated, spec.MethodToolsChanged, spec.MethodPromptsChanged,
			spec.MethodResourcesChanged, spec.MethodElicitDone)),
		legal("list-changed-params", "notifications that a list has changed have empty params", sentAll(func(map[string]any) {},
			spec.MethodToolsChanged, spec.MethodPromptsChanged, spec.MethodResourcesChanged)),
		legal("progress-bare", "progress has neither total nor message", sent(progress, leaveOut("total", "message"))),
		legal("progress-numbers", "progress is written with points and exponents, and exceeds its total", sent(progress, func(p map[string]any) {
			if n, ok := p["progress"].(interface{ String() string }); ok {
				p["progress"], p["total"] = raw(n.String()+".50"), raw("1e0")
			}
		})),
		legal("cancel-without-reason", "cancellations give no reason", sent(spec.MethodCancelled, leaveOut("reason"))),

		legal("roots-params", "roots/list has params that are empty, or hold _meta alone", together(
			asksIf("roots", spec.MethodRootsList, raw("{}")), asksIf("roots", spec.MethodRootsList, raw(`{"_meta":{}}`)),
			asksIf("roots", spec.MethodRootsList, raw(`{"_meta":{"progressToken":"roots","com.example/x":null}}`)))),
		legal("sampling-bare", "sampling has only what it must have", sent(sampling, func(p map[string]any) {
			for name := range p {
				if name != "messages" && name != "maxTokens" {
					delete(p, name)
				}
			}
		})),
		legal("sampling-odd", "sampling has no message, empty lists, no hint and members that no revision knows", sent(sampling, func(p map[string]any) {
			p["messages"], p["stopSequences"], p["metadata"], p["x-more"] = []any{}, []any{}, map[string]any{"a": nil}, nil
			p["modelPreferences"] = map[string]any{"hints": []any{map[string]any{}, map[string]any{"x": 1}}, "costPriority": raw("1.0"), "speedPriority": 0}
			p["maxTokens"], p["temperature"], p["systemPrompt"] = raw("1e2"), raw("-0.0"), ""
		})),
		legal("sampling-content-empty", "messages of sampling have no block at all", sent(sampling, inEach("messages", put("content", []any{})))).in(spec.V20251125),
		legal("sampling-content-one", "messages of sampling have one block in an array, with _meta", sent(sampling, inEach("messages",
			put("content", raw(`[{"type":"text","text":"","_meta":{},"annotations":{},"x":1}]`))))).in(spec.V20251125),
		legal("form-empty", "a form has no field", form(both(put("properties", map[string]any{}), put("required", []any{})))).in(newer...),
		legal("form-odd", "fields have no title, members that no revision knows, empty words and bounds with points", field(func(p map[string]any) {
			clear(p)
			p[""] = raw(`{"type":"string"}`)
			p["a b/ç"] = raw(`{"type":"string","minLength":0.0,"maxLength":1e2,"description":"","x-order":1}`)
			p["enum"] = raw(`{"type":"string","enum":["","a","a "],"title":""}`)
			p["flag"] = raw(`{"type":"boolean","default":true}`)
			p["whole"] = raw(`{"type":"integer","minimum":-1.0,"maximum":10.0}`)
			p["name"] = raw(`{"type":"string"}`)
		})).in(newer...),
		legal("form-names", "a field has names for its words", field(func(p map[string]any) {
			p["colour"] = raw(`{"type":"string","enum":["r","g"],"enumNames":["Red","Green"]}`)
		})).in(newer...),
		legal("form-dialect", "a form names its dialect, and a field has a pattern", together(
			form(put("$schema", "https://json-schema.org/draft/2020-12/schema")),
			field(put("code", raw(`{"type":"string","pattern":"^[a-z]+$"}`))))).in(spec.V20251125),
		legal("form-optional", "a form requires nothing, by an empty list", form(put("required", []any{}))).in(newer...),
		legal("visit-first", "a tool says that a page has to be visited first", Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			name, _ := wire.Text(wire.At(c.Params, "/name"))
			if name != "ask-elicitation-url" || !c.Session.Declared("elicitation", "url") {
				return next(c)
			}
			return nil, &refserver.Error{Code: spec.CodeURLElicitation, Message: "A page has to be visited first", Data: raw(`{"elicitations":[
				{"mode":"url","message":"Please look.","url":"https://example.com/visit","elicitationId":"visit-1","x-more":1}],"x-more":null}`)}
		})).in(spec.V20251125),
	}
}

// sentAll edits the params of several methods.
func sentAll(e edit, methods ...string) refserver.Seams {
	var several []refserver.Seams
	for _, m := range methods {
		several = append(several, sent(m, e))
	}
	return together(several...)
}

// asksIf asks when the client has said initialized, if it has declared that
// it can be asked.
func asksIf(capability, method string, params any) refserver.Seams {
	return onceReady(func(s *refserver.Session) {
		if s.Declared(capability) {
			s.Go(func(ctx context.Context) { _, _ = s.SendRequest(ctx, wire.ID{}, method, params) })
		}
	})
}
