package client

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// FillIn returns content that fits the schema of a form, with a value for every field
// that it understands. It returns false if it does not understand a required field.
func FillIn(schema jsontext.Value) (content map[string]any, ok bool) {
	names, fields := wire.Members(wire.At(schema, "/properties"))
	content = map[string]any{}
	for _, name := range names {
		if v := fillField(fields[name]); v != nil {
			content[name] = v
		}
	}
	for _, v := range wire.Elements(wire.At(schema, "/required")) {
		if name, _ := wire.Text(v); content[name] == nil {
			return nil, false
		}
	}
	return content, true
}

// fillField returns a value for one field, or nil.
func fillField(field jsontext.Value) any {
	if v := wire.At(field, "/default"); v != nil {
		return v
	}
	for _, list := range []string{"/enum/0", "/oneOf/0/const"} {
		if v := wire.At(field, list); v != nil {
			return v
		}
	}
	switch kind, _ := wire.Text(wire.At(field, "/type")); kind {
	case "boolean":
		return true
	case "number", "integer":
		return fillNumber(field)
	case "array":
		return fillArray(field)
	case "string":
		return fillString(field)
	default:
		return nil
	}
}

// fillNumber returns a bound of the number that is an integer, or 1 if there is none.
func fillNumber(field jsontext.Value) any {
	least, most := wire.At(field, "/minimum"), wire.At(field, "/maximum")
	for _, bound := range []jsontext.Value{least, most} {
		if _, ok := wire.Integer(bound); ok {
			return bound
		}
	}
	if least == nil && most == nil {
		return 1
	}
	return nil
}

// fillArray returns as many options as the schema requires, at least one.
func fillArray(field jsontext.Value) any {
	var options []jsontext.Value
	options = append(options, wire.Elements(wire.At(field, "/items/enum"))...)
	for _, o := range wire.Elements(wire.At(field, "/items/anyOf")) {
		options = append(options, wire.At(o, "/const"))
	}
	n := int64(1)
	if least, ok := wire.Integer(wire.At(field, "/minItems")); ok && least > n {
		n = least
	}
	if n > int64(len(options)) {
		return nil
	}
	return options[:n]
}

const maxFilledLength = 1000 // characters that are made up for a field

func fillString(field jsontext.Value) any {
	if wire.At(field, "/pattern") != nil {
		return nil
	}
	format, _ := wire.Text(wire.At(field, "/format"))
	s, known := map[string]string{
		"": "mcp-conform", "email": "user@example.com", "uri": "https://example.com/", "date": "2025-01-01", "date-time": "2025-01-01T00:00:00Z",
	}[format]
	least, _ := wire.Integer(wire.At(field, "/minLength"))
	most, bounded := wire.Integer(wire.At(field, "/maxLength"))
	if format == "" {
		if least > maxFilledLength {
			return nil
		}
		s += strings.Repeat("x", max(0, int(least)-len(s)))
		if bounded && most >= 0 && most < int64(len(s)) {
			s = s[:most]
		}
	}
	if n := int64(len(s)); !known || n < least || bounded && n > most {
		return nil
	}
	return s
}
