package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// formFaults returns the faults in forms that validation against a schema does not find, such as
// limits that no input can satisfy, or keywords that are not defined for forms.
func formFaults() []*Fault {
	const known, bounds, defaults = "elicitation.form.required-known/", "elicitation.form.satisfiable/", "elicitation.form.defaults-fit/"
	const advanced, older, newer = "elicitation.form.no-advanced-keywords/", "elicitation.form.enum-forms-2025-06-18/", "elicitation.form.enum-forms-2025-11-25/"
	asks := func(params string) *refserver.Seams { return requestOnInitialized(spec.MethodElicit, rawJSON(params)) }
	return []*Fault{
		newFault("elicitation.message.explains/empty", "the message of a form is an empty string", asks(`{"message":"","requestedSchema":{"type":"object","properties":{}}}`)),
		newFault("elicitation.message.explains/blank", "the message of a form is only white space", asks(`{"message":" \n","requestedSchema":{"type":"object","properties":{}}}`)),
		newFault(known+"other-name", "a form requires a field that it does not have", asks(`{"message":"What is it?","requestedSchema":{"type":"object","properties":{"it":{"type":"string"}},"required":["name"]}}`)),
		newFault(bounds+"numbers", "a form field has a minimum above its maximum", requestForm(`{"type":"number","minimum":2,"maximum":1}`)),
		newFault(bounds+"lengths", "a form field has minLength above maxLength", requestForm(`{"type":"string","minLength":10,"maxLength":9}`)),
		newFault(bounds+"options", "a form field requires more choices than it has options", requestForm(`{"type":"array","minItems":2,"items":{"type":"string","enum":["a"]}}`)).inRevisions(spec.V20251125),
		newFault(defaults+"no-option", "the default of a choice is not one of its options", requestForm(`{"type":"string","enum":["a"],"default":"b"}`)).inRevisions(spec.V20251125),
		newFault(defaults+"out-of-range", "the default of a number is out of range", requestForm(`{"type":"integer","maximum":10,"default":11}`)).inRevisions(spec.V20251125),
		newFault(defaults+"title", "the default of a choice is the title of an option", requestForm(`{"type":"string","oneOf":[{"const":"a","title":"A"}],"default":"A"}`)).inRevisions(spec.V20251125),
		newFault(advanced+"all-of", "a form field has the keyword allOf", requestForm(`{"type":"string","allOf":[{"maxLength":3}]}`)),
		newFault(advanced+"reference", "a form has $defs", asks(`{"message":"What is it?","requestedSchema":{"type":"object","properties":{"it":{"type":"string","$ref":"#/$defs/it"}},"$defs":{"it":{}}}}`)),
		newFault(advanced+"numbers-to-choose", "a field of a form is a choice of numbers", requestForm(`{"type":"integer","enum":[1,2]}`)),
		newFault(older+"titled", "a choice has titled options, which a later revision introduced", requestForm(`{"type":"string","oneOf":[{"const":"a","title":"A"}]}`)),
		newFault(older+"names-missing", "a choice has fewer names than options", requestForm(`{"type":"string","enum":["a","b"],"enumNames":["A"]}`)),
		newFault(newer+"untitled", "a choice has options without titles", requestForm(`{"type":"string","oneOf":[{"const":"a"}]}`)),
		newFault(newer+"any-of", "a choice has its options under anyOf", requestForm(`{"type":"string","anyOf":[{"const":"a","title":"A"}]}`)),
		newFault(newer+"numbers", "the options of a string field are numbers", requestForm(`{"type":"string","enum":[1,2]}`)),
		newFault("elicitation.form.legacy-enum-names/names", "a choice names its options with the deprecated enumNames", requestForm(`{"type":"string","enum":["a"],"enumNames":["A"]}`)),
	}
}
