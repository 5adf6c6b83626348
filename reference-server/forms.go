package refserver

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A formField is one field of an elicitation form: its JSON Schema and the check of
// the user's value.
type formField struct {
	name         string
	required     bool
	since        spec.Revision // the first revision that defines this kind of field
	schema       object
	defaultValue any // sent since 2025-11-25; a default for all revisions is in schema
	isValid      func(v jsontext.Value) bool
}

var formFields = []formField{
	{name: "name", required: true, schema: object{"type": "string", "title": "Name", "minLength": 1, "maxLength": 80}, defaultValue: "Ada", isValid: func(v jsontext.Value) bool {
		name, ok := wire.Text(v)
		return ok && name != "" && utf8.RuneCountInString(name) <= 80
	}},
	{name: "email", schema: object{"type": "string", "description": "Where to reach you", "format": "email"}, isValid: hasText("@")},
	{name: "homepage", schema: object{"type": "string", "format": "uri"}, isValid: hasText(":")},
	{name: "birthday", schema: object{"type": "string", "format": "date"}, isValid: hasText("-")},
	{name: "meeting", schema: object{"type": "string", "format": "date-time"}, isValid: hasText("T")},
	{name: "age", schema: object{"type": "integer", "minimum": 0, "maximum": 150}, defaultValue: 36, isValid: func(v jsontext.Value) bool {
		n, ok := wire.Integer(v)
		return ok && n >= 0 && n <= 150
	}},
	{name: "height", schema: object{"type": "number", "minimum": 0.5, "maximum": 2.5}, defaultValue: 1.75, isValid: func(v jsontext.Value) bool {
		x, ok := parseNumber(v)
		return ok && x >= 0.5 && x <= 2.5
	}},
	{name: "newsletter", schema: object{"type": "boolean", "default": false}, isValid: isBoolean},
	{name: "colour", schema: object{"type": "string", "enum": colours}, defaultValue: "green", isValid: oneOf(colours)},
	{name: "size", since: spec.V20251125, schema: object{"type": "string", "oneOf": titledChoices("small", "large")}, defaultValue: "small", isValid: oneOf([]string{"small", "large"})},
	{name: "days", since: spec.V20251125, schema: object{
		"type": "array", "minItems": 1, "maxItems": 2, "items": object{"type": "string", "enum": []string{"Monday", "Tuesday"}},
	}, defaultValue: []string{"Monday"}, isValid: someOf([]string{"Monday", "Tuesday"}, 1)},
	{name: "toppings", since: spec.V20251125, schema: object{"type": "array", "items": object{"anyOf": titledChoices("cheese", "olives")}},
		defaultValue: []string{}, isValid: someOf([]string{"cheese", "olives"}, 0)},
}

func isString(v jsontext.Value) bool  { return v.Kind() == '"' }
func isNumber(v jsontext.Value) bool  { return v.Kind() == '0' }
func isBoolean(v jsontext.Value) bool { return v.Kind() == 't' || v.Kind() == 'f' }

func isInteger(v jsontext.Value) bool {
	_, ok := wire.Integer(v)
	return ok
}

func titledChoices(words ...string) []object {
	var out []object
	for _, w := range words {
		out = append(out, object{"const": w, "title": strings.ToUpper(w[:1]) + w[1:]})
	}
	return out
}

func hasText(part string) func(jsontext.Value) bool {
	return func(v jsontext.Value) bool {
		text, ok := wire.Text(v)
		return ok && strings.Contains(text, part)
	}
}

func oneOf(words []string) func(jsontext.Value) bool {
	return func(v jsontext.Value) bool {
		text, ok := wire.Text(v)
		return ok && slices.Contains(words, text)
	}
}

func someOf(words []string, least int) func(jsontext.Value) bool {
	return func(v jsontext.Value) bool {
		chosen := wire.Elements(v)
		return v.Kind() == '[' && len(chosen) >= least && len(chosen) <= len(words) && !slices.ContainsFunc(chosen, func(e jsontext.Value) bool { return !oneOf(words)(e) })
	}
}

// form returns the schema of a form with the given fields. It leaves out what revision r does not
// define.
func form(fields []formField, r spec.Revision) object {
	properties, required := object{}, []string{}
	for _, f := range fields {
		if !r.AtLeast(f.since) {
			continue
		}
		field := object{}
		for name, v := range f.schema {
			field[name] = v
		}
		if f.defaultValue != nil && r.AtLeast(spec.V20251125) {
			field["default"] = f.defaultValue
		}
		properties[f.name] = field
		if f.required {
			required = append(required, f.name)
		}
	}
	schema := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

func askFields(c *Call, _ values) object {
	return askForForm(c, "The ask-elicitation-fields tool would like to see a form filled in, whatever you choose.", formFields)
}

// elicitationOf returns the params of an elicitation by form.
func elicitationOf(c *Call, message string, fields []formField) object {
	return object{"message": message, "requestedSchema": form(fields, c.Revision)}
}

// askForForm asks the user to fill in a form, and checks the content that the client returns.
func askForForm(c *Call, message string, fields []formField) object {
	if !c.canElicitForms() {
		return c.failUndeclared("This client has not declared elicitation by form.", "elicitation", "form")
	}
	result, err := c.SendRequest(spec.MethodElicit, elicitationOf(c, message, fields))
	if err != nil {
		return errorResult("Asking the client failed: " + err.Error() + ".")
	}
	if action, _ := wire.Text(wire.At(result, "/action")); action != "accept" {
		return textResult("The user chose to " + action + ".")
	}
	_, given := wire.Members(wire.At(result, "/content"))
	for _, f := range fields {
		v, ok := given[f.name]
		if ok && !f.isValid(v) || !ok && f.required {
			return c.failUnusableResponse("The user's answer does not fit the form: " + f.name + ".")
		}
	}
	return textResult(fmt.Sprintf("The user filled in %d fields.", len(given)))
}
