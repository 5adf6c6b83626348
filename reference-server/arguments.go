package refserver

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// An argument describes one argument of a tool. Both its JSON Schema and the check
// of its values are derived from it.
type argument struct {
	name, description string
	kind              string // string, integer, number, boolean or point (a pair of numbers)
	required          bool
	defaultValue      any      // int, string, bool or nil
	min, max          int      // bounds of an integer, both inclusive
	oneOf             []string // the permitted strings; nil permits any
	header            string   // suffix of the Mcp-Param- header that repeats the argument, since 2026-07-28
}

// headerKeyword is the schema member that names the header of an argument.
const headerKeyword = "x-mcp-header"

// values maps the names of a tool's arguments to their checked values: string,
// int, float64, bool or [2]float64, according to the kind. An argument that the
// call omits has its default value, which may be nil.
type values map[string]any

func inputSchema(arguments []argument, r spec.Revision) object {
	schema := object{"type": "object", "additionalProperties": false}
	properties, required := object{}, []string{}
	for _, a := range arguments {
		properties[a.name] = a.schema(r)
		if a.required {
			required = append(required, a.name)
		}
	}
	if len(properties) > 0 {
		schema["properties"] = properties
	}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

func (a *argument) schema(r spec.Revision) object {
	o := object{"type": a.kind, "description": a.description}
	switch a.kind {
	case "integer":
		o["minimum"], o["maximum"] = a.min, a.max
	case "point":
		number := object{"type": "number"}
		o["type"], o["minItems"], o["maxItems"] = "array", 2, 2
		// Dialects of JSON Schema describe tuples differently. 2020-12 is the default
		// since 2025-11-25; earlier revisions do not specify a dialect.
		if r.AtLeast(spec.V20251125) {
			o["prefixItems"] = []object{number, number} // maxItems forbids more
		} else {
			o["items"] = number
		}
	}
	if a.oneOf != nil {
		o["enum"] = a.oneOf
	}
	if a.defaultValue != nil {
		o["default"] = a.defaultValue
	}
	if a.header != "" && r.AtLeast(spec.V20260728) {
		o[headerKeyword] = a.header
	}
	return o
}

// readArguments checks the arguments of a call against their descriptions. It returns either the
// values, with defaults for omitted arguments, or a description of the first problem.
func readArguments(arguments []argument, given fields) (values, string) {
	out := values{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(arguments, func(a argument) bool { return a.name == name }) {
			return nil, fmt.Sprintf("there is no argument %s", strconv.Quote(name))
		}
	}
	for i := range arguments {
		a := &arguments[i]
		raw, ok := given[a.name]
		switch {
		case ok:
			v, problem := a.read(raw)
			if problem != "" {
				return nil, a.name + " must be " + problem
			}
			out[a.name] = v
		case a.required:
			return nil, a.name + " is required"
		default:
			out[a.name] = a.defaultValue
		}
	}
	return out, ""
}

func (a *argument) read(raw jsontext.Value) (v any, problem string) {
	switch a.kind {
	case "string":
		text, ok := wire.Text(raw)
		if !ok {
			return nil, "a string"
		}
		if a.oneOf != nil && !slices.Contains(a.oneOf, text) {
			return nil, fmt.Sprintf("one of %v", a.oneOf)
		}
		return text, ""
	case "integer":
		n, ok := wire.Integer(raw)
		if !ok || n < int64(a.min) || n > int64(a.max) {
			return nil, fmt.Sprintf("an integer from %d to %d", a.min, a.max)
		}
		return int(n), ""
	case "number":
		x, ok := parseNumber(raw)
		if !ok {
			return nil, "a number of reasonable size"
		}
		return x, ""
	case "boolean":
		if raw.Kind() != 't' && raw.Kind() != 'f' {
			return nil, "true or false"
		}
		return raw.Kind() == 't', ""
	default:
		elements := wire.Elements(raw)
		var p [2]float64
		if len(elements) != len(p) {
			return nil, "an array of two numbers"
		}
		for i, e := range elements {
			x, ok := parseNumber(e)
			if !ok {
				return nil, "an array of two numbers"
			}
			p[i] = x
		}
		return p, ""
	}
}

func parseNumber(raw jsontext.Value) (float64, bool) {
	if raw.Kind() != '0' {
		return 0, false
	}
	x, err := strconv.ParseFloat(string(raw), 64)
	return x, err == nil
}
