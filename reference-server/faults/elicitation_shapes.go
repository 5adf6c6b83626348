package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// asksForm asks by a form with one field, raw JSON.
func asksForm(field string) refserver.Seams {
	return asksWhenReady(spec.MethodElicit, raw(`{"message":"What is it?","requestedSchema":{"type":"object","properties":{"it":`+field+`}}}`))
}

// elicitationShapeFaults are the faults in what the server asks of the user.
func elicitationShapeFaults() []Fault {
	const request, flat, formats, page = "elicitation.request.schema/", "elicitation.form.flat-primitive-properties/", "elicitation.form.string-formats/", "elicitation.url."
	asks := func(params string) refserver.Seams { return asksWhenReady(spec.MethodElicit, raw(params)) }
	return []Fault{
		breaks(request+"no-message", "elicitation has no message", asks(`{"requestedSchema":{"type":"object","properties":{}}}`)),
		breaks(request+"message-null", "the message of elicitation is null", asks(`{"message":null,"requestedSchema":{"type":"object","properties":{}}}`)),
		breaks(request+"no-schema", "elicitation has no requestedSchema", asks(`{"message":"What is it?"}`)),
		breaks(request+"schema-null", "the requestedSchema of elicitation is null", asks(`{"message":"What is it?","requestedSchema":null}`)),
		breaks(request+"schema-name", "elicitation has a schema instead of a requestedSchema", asks(`{"message":"What is it?","schema":{"type":"object","properties":{}}}`)),
		breaks(request+"no-params", "elicitation has no params", asksWhenReady(spec.MethodElicit, nil)),
		breaks(flat+"no-properties", "the requestedSchema of elicitation has no properties", asks(`{"message":"What is it?","requestedSchema":{"type":"object"}}`)),
		breaks(request+"required-true", "the member required of a form is true", asks(`{"message":"What is it?","requestedSchema":{"type":"object","properties":{},"required":true}}`)),
		breaks(request+"mode-page", "elicitation has the mode page", asks(`{"mode":"page","message":"What is it?","url":"https://example.com/","elicitationId":"1"}`)).in(spec.V20251125),
		breaks(request+"mode-null", "elicitation has the mode null", asks(`{"mode":null,"message":"What is it?","requestedSchema":{"type":"object","properties":{}}}`)).in(spec.V20251125),
		breaks(request+"url-without-url", "elicitation by URL has none", asks(`{"mode":"url","message":"Please look.","elicitationId":"1"}`)).in(spec.V20251125),
		breaks(request+"length-text", "the length of a field is a string", asksForm(`{"type":"string","maxLength":"80"}`)),
		breaks(request+"title-null", "the title of a field is null", asksForm(`{"type":"boolean","title":null}`)),
		breaks(request+"minimum-text", "the minimum of a field is a string", asksForm(`{"type":"number","minimum":"0"}`)),
		breaks(request+"default-text", "the default of a boolean field is a string", asksForm(`{"type":"boolean","default":"yes"}`)),

		breaks(flat+"nested", "a field of a form is an object", asksForm(`{"type":"object","properties":{"name":{"type":"string"}}}`)),
		breaks(flat+"array", "a field of a form is an array of numbers", asksForm(`{"type":"array","items":{"type":"number"}}`)),
		breaks(flat+"array-of-any", "a field of a form is an array of anything", asksForm(`{"type":"array"}`)),
		breaks(flat+"no-type", "a field of a form has no type", asksForm(`{"title":"It"}`)),
		breaks(flat+"types", "a field of a form has two types", asksForm(`{"type":["string","null"]}`)),
		breaks(flat+"null", "a field of a form is of the type null", asksForm(`{"type":"null"}`)),
		breaks(flat+"root-array", "a form is an array", asks(`{"message":"What is it?","requestedSchema":{"type":"array","items":{"type":"string"}}}`)),
		breaks(flat+"root-no-type", "a form has no type", asks(`{"message":"What is it?","requestedSchema":{"properties":{"it":{"type":"string"}}}}`)),
		breaks(formats+"uuid", "a field of a form has the format uuid", asksForm(`{"type":"string","format":"uuid"}`)),
		breaks(formats+"time", "a field of a form has the format time", asksForm(`{"type":"string","format":"time"}`)),
		breaks(formats+"url", "a field of a form has the format url", asksForm(`{"type":"string","format":"url"}`)),
		breaks("elicitation.form.schema-valid/negative-length", "a field of a form has a length below zero", asksForm(`{"type":"string","minLength":-1}`)),
		breaks("elicitation.form.schema-valid/pattern", "a field of a form has a number for a pattern", asksForm(`{"type":"string","pattern":5}`)),

		breaks(page+"valid/relative", "the URL of elicitation is relative", asks(`{"mode":"url","message":"Please look.","elicitationId":"1","url":"/visit"}`)),
		breaks(page+"valid/host", "the URL of elicitation has no scheme", asks(`{"mode":"url","message":"Please look.","elicitationId":"1","url":"example.com/visit"}`)),
		breaks(page+"valid/space", "the URL of elicitation has a space", asks(`{"mode":"url","message":"Please look.","elicitationId":"1","url":"https://example.com/my page"}`)),
		breaks(page+"valid/in-error", "the URL of an elicitation that -32042 lists is relative", requiresVisit(raw(`{"elicitations":[{"mode":"url","message":"Please look.","elicitationId":"1","url":"/visit"}]}`))),
		breaks(page+"id-present-2025-11-25/missing", "elicitation by URL has no elicitationId", asks(`{"mode":"url","message":"Please look.","url":"https://example.com/"}`)),
		breaks(page+"id-present-2025-11-25/number", "the elicitationId of elicitation by URL is a number", asks(`{"mode":"url","message":"Please look.","elicitationId":1,"url":"https://example.com/"}`)),
	}
}

// elicitationErrorFaults are the faults in the error by which a request says
// that an elicitation has to come first.
func elicitationErrorFaults() []Fault {
	const only, lists, mode = "elicitation.required-error.only-for-that-2025-11-25/", "elicitation.required-error.lists-elicitations-2025-11-25/",
		"elicitation.required-error.url-mode-with-id-2025-11-25/"
	one := func(elicitation string) refserver.Seams {
		return requiresVisit(raw(`{"elicitations":[` + elicitation + `]}`))
	}
	return []Fault{
		breaks(only+"no-data", "unknown methods get -32042 without data", requiresVisit(nil)),
		breaks(only+"text", "unknown methods get -32042 with a string", requiresVisit("not found")),
		breaks(only+"no-list", "-32042 comes with data that lists nothing", requiresVisit(raw(`{"url":"https://example.com/"}`))),
		breaks(lists+"object", "-32042 lists elicitations as an object", requiresVisit(raw(`{"elicitations":{"mode":"url"}}`))),
		breaks(mode+"form", "-32042 lists an elicitation by form", one(`{"mode":"form","message":"What is it?","requestedSchema":{"type":"object","properties":{}}}`)),
		breaks(mode+"no-mode", "-32042 lists an elicitation without a mode", one(`{"message":"Please look.","elicitationId":"1","url":"https://example.com/"}`)),
		breaks(mode+"no-id", "-32042 lists an elicitation without an id", one(`{"mode":"url","message":"Please look.","url":"https://example.com/"}`)),
		breaks(mode+"no-url", "-32042 lists an elicitation without a URL", one(`{"mode":"url","message":"Please look.","elicitationId":"1"}`)),
		breaks("elicitation.required-error.lists-elicitations-2025-11-25/empty", "-32042 lists no elicitation", requiresVisit(raw(`{"elicitations":[]}`))),
	}
}

// requiresVisit answers unknown methods by the error that says that a page
// has to be visited first.
func requiresVisit(data any) refserver.Seams {
	return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err == nil || err.Code != spec.CodeMethodNotFound {
			return result, err
		}
		return nil, &refserver.Error{Code: spec.CodeURLElicitation, Message: "A page has to be visited first", Data: data}
	})
}
