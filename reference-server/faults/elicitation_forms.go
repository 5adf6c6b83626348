package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// formFaults are those of forms that are valid schemas and yet can't be filled
// in, or use what forms do not have, and of other things that a schema does
// not say.
func formFaults() []Fault {
	const known, bounds, defaults = "elicitation.form.required-known/", "elicitation.form.satisfiable/", "elicitation.form.defaults-fit/"
	const advanced, older, newer = "elicitation.form.no-advanced-keywords/", "elicitation.form.enum-forms-2025-06-18/", "elicitation.form.enum-forms-2025-11-25/"
	asks := func(params string) refserver.Seams { return asksWhenReady(spec.MethodElicit, raw(params)) }
	return []Fault{
		breaks("elicitation.message.explains/empty", "the message of a form is empty", asks(`{"message":"","requestedSchema":{"type":"object","properties":{}}}`)),
		breaks("elicitation.message.explains/blank", "the message of a form is blank", asks(`{"message":" \n","requestedSchema":{"type":"object","properties":{}}}`)),
		breaks(known+"other-name", "a form requires a field that it does not have", asks(`{"message":"What is it?","requestedSchema":{"type":"object","properties":{"it":{"type":"string"}},"required":["name"]}}`)),
		breaks(bounds+"numbers", "a field of a form has a minimum above its maximum", asksForm(`{"type":"number","minimum":2,"maximum":1}`)),
		breaks(bounds+"lengths", "a field of a form has contradictory lengths", asksForm(`{"type":"string","minLength":10,"maxLength":9}`)),
		breaks(bounds+"options", "a field of a form wants more choices than there are", asksForm(`{"type":"array","minItems":2,"items":{"type":"string","enum":["a"]}}`)).in(spec.V20251125),
		breaks(defaults+"no-option", "the default of a choice is none of the options", asksForm(`{"type":"string","enum":["a"],"default":"b"}`)).in(spec.V20251125),
		breaks(defaults+"out-of-range", "the default of a number is out of range", asksForm(`{"type":"integer","maximum":10,"default":11}`)).in(spec.V20251125),
		breaks(defaults+"title", "the default of a choice is a title", asksForm(`{"type":"string","oneOf":[{"const":"a","title":"A"}],"default":"A"}`)).in(spec.V20251125),
		breaks(advanced+"all-of", "a field of a form has the keyword allOf", asksForm(`{"type":"string","allOf":[{"maxLength":3}]}`)),
		breaks(advanced+"reference", "a form has definitions", asks(`{"message":"What is it?","requestedSchema":{"type":"object","properties":{"it":{"type":"string","$ref":"#/$defs/it"}},"$defs":{"it":{}}}}`)),
		breaks(advanced+"numbers-to-choose", "a field of a form is a choice of numbers", asksForm(`{"type":"integer","enum":[1,2]}`)),
		breaks(older+"titled", "a choice has titled options, which are newer", asksForm(`{"type":"string","oneOf":[{"const":"a","title":"A"}]}`)),
		breaks(older+"names-missing", "a choice has fewer names than options", asksForm(`{"type":"string","enum":["a","b"],"enumNames":["A"]}`)),
		breaks(newer+"untitled", "a choice has options without titles", asksForm(`{"type":"string","oneOf":[{"const":"a"}]}`)),
		breaks(newer+"any-of", "a choice has its options under anyOf", asksForm(`{"type":"string","anyOf":[{"const":"a","title":"A"}]}`)),
		breaks(newer+"numbers", "the options of a text are numbers", asksForm(`{"type":"string","enum":[1,2]}`)),
		breaks("elicitation.form.legacy-enum-names/names", "a choice names its options in the old way", asksForm(`{"type":"string","enum":["a"],"enumNames":["A"]}`)),
	}
}
