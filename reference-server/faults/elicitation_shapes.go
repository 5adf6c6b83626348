package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// requestForm requests elicitation with a form of one field, which is raw JSON.
func requestForm(field string) *refserver.Seams {
	return requestOnInitialized(spec.MethodElicit, rawJSON(`{"message":"What is it?","requestedSchema":{"type":"object","properties":{"it":`+field+`}}}`))
}

// elicitationShapeFaults returns the faults in the shape of elicitation/create.
func elicitationShapeFaults() []*Fault {
	const request, flat, formats, page = "elicitation.request.schema/", "elicitation.form.flat-primitive-properties/", "elicitation.form.string-formats/", "elicitation.url."
	asks := func(params string) *refserver.Seams { return requestOnInitialized(spec.MethodElicit, rawJSON(params)) }
	return []*Fault{
		newFault(request+"no-message", "elicitation/create lacks a message", asks(`{"requestedSchema":{"type":"object","properties":{}}}`)),
		newFault(request+"message-null", "the message of elicitation/create is null", asks(`{"message":null,"requestedSchema":{"type":"object","properties":{}}}`)),
		newFault(request+"no-schema", "elicitation/create lacks requestedSchema", asks(`{"message":"What is it?"}`)),
		newFault(request+"schema-null", "the requestedSchema of elicitation/create is null", asks(`{"message":"What is it?","requestedSchema":null}`)),
		newFault(request+"schema-name", "elicitation/create has schema instead of requestedSchema", asks(`{"message":"What is it?","schema":{"type":"object","properties":{}}}`)),
		newFault(request+"no-params", "elicitation/create has no params", requestOnInitialized(spec.MethodElicit, nil)),
		newFault(flat+"no-properties", "the requestedSchema of elicitation/create has no properties", asks(`{"message":"What is it?","requestedSchema":{"type":"object"}}`)),
		newFault(request+"required-true", "the member required of a form schema is true", asks(`{"message":"What is it?","requestedSchema":{"type":"object","properties":{},"required":true}}`)),
		newFault(request+"mode-page", "elicitation/create has the mode page", asks(`{"mode":"page","message":"What is it?","url":"https://example.com/","elicitationId":"1"}`)).inRevisions(spec.V20251125),
		newFault(request+"mode-null", "elicitation/create has the mode null", asks(`{"mode":null,"message":"What is it?","requestedSchema":{"type":"object","properties":{}}}`)).inRevisions(spec.V20251125),
		newFault(request+"url-without-url", "elicitation/create in url mode has no url", asks(`{"mode":"url","message":"Please look.","elicitationId":"1"}`)).inRevisions(spec.V20251125),
		newFault(request+"length-text", "the maxLength of a form field is a string", requestForm(`{"type":"string","maxLength":"80"}`)),
		newFault(request+"title-null", "the title of a field is null", requestForm(`{"type":"boolean","title":null}`)),
		newFault(request+"minimum-text", "the minimum of a field is a string", requestForm(`{"type":"number","minimum":"0"}`)),
		newFault(request+"default-text", "the default of a boolean field is a string", requestForm(`{"type":"boolean","default":"yes"}`)),

		newFault(flat+"nested", "a field of a form is an object", requestForm(`{"type":"object","properties":{"name":{"type":"string"}}}`)),
		newFault(flat+"array", "a field of a form is an array of numbers", requestForm(`{"type":"array","items":{"type":"number"}}`)),
		newFault(flat+"array-of-any", "a field of a form is an array of anything", requestForm(`{"type":"array"}`)),
		newFault(flat+"no-type", "a field of a form has no type", requestForm(`{"title":"It"}`)),
		newFault(flat+"types", "a field of a form has two types", requestForm(`{"type":["string","null"]}`)),
		newFault(flat+"null", "a form field has the type null", requestForm(`{"type":"null"}`)),
		newFault(flat+"root-array", "a form is an array", asks(`{"message":"What is it?","requestedSchema":{"type":"array","items":{"type":"string"}}}`)),
		newFault(flat+"root-no-type", "a form has no type", asks(`{"message":"What is it?","requestedSchema":{"properties":{"it":{"type":"string"}}}}`)),
		newFault(formats+"uuid", "a field of a form has the format uuid", requestForm(`{"type":"string","format":"uuid"}`)),
		newFault(formats+"time", "a field of a form has the format time", requestForm(`{"type":"string","format":"time"}`)),
		newFault(formats+"url", "a field of a form has the format url", requestForm(`{"type":"string","format":"url"}`)),
		newFault("elicitation.form.schema-valid/negative-length", "a form field has a negative minLength", requestForm(`{"type":"string","minLength":-1}`)),
		newFault("elicitation.form.schema-valid/pattern", "the pattern of a form field is a number", requestForm(`{"type":"string","pattern":5}`)),

		newFault(page+"valid/relative", "the url of an elicitation is relative", asks(`{"mode":"url","message":"Please look.","elicitationId":"1","url":"/visit"}`)),
		newFault(page+"valid/host", "the url of an elicitation has no scheme", asks(`{"mode":"url","message":"Please look.","elicitationId":"1","url":"example.com/visit"}`)),
		newFault(page+"valid/space", "the url of an elicitation contains a space", asks(`{"mode":"url","message":"Please look.","elicitationId":"1","url":"https://example.com/my page"}`)),
		newFault(page+"valid/in-error", "error -32042 lists an elicitation with a relative url", requireURLElicitation(rawJSON(`{"elicitations":[{"mode":"url","message":"Please look.","elicitationId":"1","url":"/visit"}]}`))),
		newFault(page+"id-present-2025-11-25/missing", "elicitation/create in url mode has no elicitationId", asks(`{"mode":"url","message":"Please look.","url":"https://example.com/"}`)),
		newFault(page+"id-present-2025-11-25/number", "the elicitationId of elicitation/create is a number", asks(`{"mode":"url","message":"Please look.","elicitationId":1,"url":"https://example.com/"}`)),
	}
}

// elicitationErrorFaults returns the faults in error -32042, which says that the request requires
// an elicitation first.
func elicitationErrorFaults() []*Fault {
	const only, lists, mode = "elicitation.required-error.only-for-that-2025-11-25/", "elicitation.required-error.lists-elicitations-2025-11-25/",
		"elicitation.required-error.url-mode-with-id-2025-11-25/"
	one := func(elicitation string) *refserver.Seams {
		return requireURLElicitation(rawJSON(`{"elicitations":[` + elicitation + `]}`))
	}
	return []*Fault{
		newFault(only+"no-data", "unknown methods get -32042 without data", requireURLElicitation(nil)),
		newFault(only+"text", "unknown methods get -32042 with a string", requireURLElicitation("not found")),
		newFault(only+"no-list", "error -32042 has data without elicitations", requireURLElicitation(rawJSON(`{"url":"https://example.com/"}`))),
		newFault(lists+"object", "error -32042 has an object as elicitations", requireURLElicitation(rawJSON(`{"elicitations":{"mode":"url"}}`))),
		newFault(mode+"form", "error -32042 lists an elicitation in form mode", one(`{"mode":"form","message":"What is it?","requestedSchema":{"type":"object","properties":{}}}`)),
		newFault(mode+"no-mode", "error -32042 lists an elicitation without mode", one(`{"message":"Please look.","elicitationId":"1","url":"https://example.com/"}`)),
		newFault(mode+"no-id", "error -32042 lists an elicitation without elicitationId", one(`{"mode":"url","message":"Please look.","url":"https://example.com/"}`)),
		newFault(mode+"no-url", "error -32042 lists an elicitation without url", one(`{"mode":"url","message":"Please look.","elicitationId":"1"}`)),
		newFault("elicitation.required-error.lists-elicitations-2025-11-25/empty", "error -32042 lists no elicitation", requireURLElicitation(rawJSON(`{"elicitations":[]}`))),
	}
}

// requireURLElicitation responds to unknown methods with error -32042, which requires the
// user to visit a page first.
func requireURLElicitation(data any) *refserver.Seams {
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err == nil || err.Code != spec.CodeMethodNotFound {
			return result, err
		}
		return nil, &refserver.Error{Code: spec.CodeURLElicitation, Message: "A page has to be visited first", Data: data}
	})
}
