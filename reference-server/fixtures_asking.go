package refserver

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// fixtureClientTools returns the official suite's tools that send requests to the
// client.
func fixtureClientTools() []*tool {
	return []*tool{
		{
			name: "test_sampling", title: "Ask a model", description: "For the official conformance suite: asks the client's model.", openWorld: true,
			input: []argument{{name: "prompt", kind: "string", description: "The prompt", required: true}},
			run:   askModel,
		},
		{
			name: "test_elicitation", title: "Ask the user", description: "For the official conformance suite: asks the user for a name.", openWorld: true,
			since: spec.V20250618,
			input: []argument{{name: "message", kind: "string", description: "What to tell the user", required: true}},
			run: func(c *Call, a values) object {
				return askForForm(c, a["message"].(string), fixtureUser)
			},
		},
		{
			name: "test_elicitation_sep1034_defaults", title: "Ask with defaults", openWorld: true, since: spec.V20251125,
			description: "For the official conformance suite: a form whose fields have defaults.",
			run:         func(c *Call, _ values) object { return askForForm(c, "Are these right?", fixtureDefaults) },
		},
		{
			name: "test_elicitation_sep1330_enums", title: "Ask with choices", openWorld: true, since: spec.V20251125,
			description: "For the official conformance suite: a form with every kind of choice.",
			run:         func(c *Call, _ values) object { return askForForm(c, "What do you choose?", fixtureChoices) },
		},
	}
}

func askModel(c *Call, a values) object {
	if !c.ClientDeclared("sampling") {
		return c.failUndeclared("This client has not declared sampling.", "sampling")
	}
	params := object{"messages": []object{promptMessage("user", textBlock(a["prompt"].(string)))}, "maxTokens": 100}
	return askClient(c, spec.MethodSampling, params, describeReply)
}

var fixtureUser = []formField{
	{name: "username", required: true, schema: object{"type": "string", "description": "How to call you", "minLength": 1}, isValid: isString},
	{name: "email", required: true, schema: object{"type": "string", "format": "email"}, isValid: hasText("@")},
}

var fixtureStates = []string{"active", "inactive", "pending"}

// fixtureDefaults are form fields with the names and defaults that the suite prescribes.
var fixtureDefaults = []formField{
	{name: "name", schema: object{"type": "string"}, defaultValue: "John Doe", isValid: isString},
	{name: "age", schema: object{"type": "integer"}, defaultValue: 30, isValid: isInteger},
	{name: "score", schema: object{"type": "number"}, defaultValue: 95.5, isValid: isNumber},
	{name: "status", schema: object{"type": "string", "enum": fixtureStates}, defaultValue: "active", isValid: oneOf(fixtureStates)},
	{name: "verified", schema: object{"type": "boolean"}, defaultValue: true, isValid: isBoolean},
}

var fixtureOptions = []string{"option1", "option2", "option3"}

// fixtureChoices are form fields with the names that the suite prescribes.
var fixtureChoices = []formField{
	{name: "untitledSingle", schema: object{"type": "string", "enum": fixtureOptions}, isValid: oneOf(fixtureOptions)},
	{name: "titledSingle", schema: object{"type": "string", "oneOf": titledChoices("value1", "value2")}, isValid: oneOf([]string{"value1", "value2"})},
	// 2025-11-25 deprecates enumNames, but still defines it for compatibility.
	{name: "legacyEnum", schema: object{"type": "string", "enum": []string{"opt1", "opt2"}, "enumNames": []string{"One", "Two"}}, isValid: oneOf([]string{"opt1", "opt2"})},
	{name: "untitledMulti", schema: object{"type": "array", "items": object{"type": "string", "enum": fixtureOptions}}, isValid: someOf(fixtureOptions, 0)},
	{name: "titledMulti", schema: object{"type": "array", "items": object{"anyOf": titledChoices("value1", "value2")}}, isValid: someOf([]string{"value1", "value2"}, 0)},
}

// contactTool has an input schema with keywords of JSON Schema 2020-12 that the
// argument type can't express.
var contactTool = &tool{
	name: "json_schema_2020_12_tool", title: "Take note of a contact", since: spec.V20251125,
	description: "For the official conformance suite: its arguments are described with JSON Schema 2020-12.",
	schema: object{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"type":    "object",
		"$defs": object{"address": object{
			"$anchor": "address", "type": "object",
			"properties": object{"street": object{"type": "string"}, "city": object{"type": "string"}},
		}},
		"properties": object{
			"name":          object{"type": "string"},
			"address":       object{"$ref": "#/$defs/address"},
			"contactMethod": object{"type": "string", "enum": []string{"phone", "email"}},
			"phone":         object{"type": "string"},
			"email":         object{"type": "string"},
		},
		"allOf":                []object{{"anyOf": []object{{"required": []string{"phone"}}, {"required": []string{"email"}}}}},
		"if":                   object{"properties": object{"contactMethod": object{"const": "phone"}}, "required": []string{"contactMethod"}},
		"then":                 object{"required": []string{"phone"}},
		"else":                 object{"required": []string{"email"}},
		"additionalProperties": false,
	},
	check: checkContact,
	run:   func(*Call, values) object { return textResult("Noted.") },
}

// checkContact checks arguments by the rules of contactTool's schema. It returns the
// first problem, or "".
func checkContact(given fields) string {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		switch name {
		case "address":
			if given[name].Kind() != '{' {
				return "address must be an object"
			}
			address, _ := given.optionalObject(name)
			for _, part := range []string{"street", "city"} {
				if v, ok := address[part]; ok && !isString(v) {
					return part + " must be a string"
				}
			}
		case "name", "contactMethod", "phone", "email":
			if !isString(given[name]) {
				return name + " must be a string"
			}
		default:
			return fmt.Sprintf("there is no argument %q", name)
		}
	}
	method, chosen := wire.Text(given["contactMethod"])
	if chosen && method != "phone" && method != "email" {
		return "contactMethod must be phone or email"
	}
	needed := "email"
	if method == "phone" {
		needed = "phone"
	}
	if _, ok := given[needed]; !ok {
		return needed + " is required"
	}
	return ""
}
