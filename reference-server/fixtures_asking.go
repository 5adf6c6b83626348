package refserver

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// fixtureAskingTools returns those of the official suite's tools that ask
// something of the client.
func fixtureAskingTools() []*tool {
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
				return askFilled(c, a["message"].(string), fixtureUser)
			},
		},
		{
			name: "test_elicitation_sep1034_defaults", title: "Ask with defaults", openWorld: true, since: spec.V20251125,
			description: "For the official conformance suite: a form whose fields have defaults.",
			run:         func(c *Call, _ values) object { return askFilled(c, "Are these right?", fixtureDefaults) },
		},
		{
			name: "test_elicitation_sep1330_enums", title: "Ask with choices", openWorld: true, since: spec.V20251125,
			description: "For the official conformance suite: a form with every kind of choice.",
			run:         func(c *Call, _ values) object { return askFilled(c, "What do you choose?", fixtureChoices) },
		},
	}
}

func askModel(c *Call, a values) object {
	if !c.Session.Declared("sampling") {
		return failed("This client has not declared sampling.")
	}
	params := object{"messages": []object{said("user", textBlock(a["prompt"].(string)))}, "maxTokens": 100}
	return asked(c, spec.MethodSampling, params, reply)
}

var fixtureUser = []formField{
	{name: "username", required: true, schema: object{"type": "string", "description": "How to call you", "minLength": 1}, fits: isText},
	{name: "email", required: true, schema: object{"type": "string", "format": "email"}, fits: hasText("@")},
}

var fixtureStates = []string{"active", "inactive", "pending"}

// The names and defaults of these fields are the suite's.
var fixtureDefaults = []formField{
	{name: "name", schema: object{"type": "string"}, preset: "John Doe", fits: isText},
	{name: "age", schema: object{"type": "integer"}, preset: 30, fits: isInteger},
	{name: "score", schema: object{"type": "number"}, preset: 95.5, fits: isNumber},
	{name: "status", schema: object{"type": "string", "enum": fixtureStates}, preset: "active", fits: oneOf(fixtureStates)},
	{name: "verified", schema: object{"type": "boolean"}, preset: true, fits: isBoolean},
}

var fixtureOptions = []string{"option1", "option2", "option3"}

// The names of these fields are the suite's.
var fixtureChoices = []formField{
	{name: "untitledSingle", schema: object{"type": "string", "enum": fixtureOptions}, fits: oneOf(fixtureOptions)},
	{name: "titledSingle", schema: object{"type": "string", "oneOf": titled("value1", "value2")}, fits: oneOf([]string{"value1", "value2"})},
	// Names beside an enum are the form that this revision keeps for older clients.
	{name: "legacyEnum", schema: object{"type": "string", "enum": []string{"opt1", "opt2"}, "enumNames": []string{"One", "Two"}}, fits: oneOf([]string{"opt1", "opt2"})},
	{name: "untitledMulti", schema: object{"type": "array", "items": object{"type": "string", "enum": fixtureOptions}}, fits: someOf(fixtureOptions, 0)},
	{name: "titledMulti", schema: object{"type": "array", "items": object{"anyOf": titled("value1", "value2")}}, fits: someOf([]string{"value1", "value2"}, 0)},
}

// contactTool has an input schema with the words of JSON Schema 2020-12 that
// lists of arguments do not need.
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
	run:   func(*Call, values) object { return answered("Noted.") },
}

// checkContact is the schema of contactTool in Go.
func checkContact(given fields) string {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		switch name {
		case "address":
			if given[name].Kind() != '{' {
				return "address must be an object"
			}
			address, _ := given.object(name)
			for _, part := range []string{"street", "city"} {
				if v, ok := address[part]; ok && !isText(v) {
					return part + " must be a string"
				}
			}
		case "name", "contactMethod", "phone", "email":
			if !isText(given[name]) {
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
