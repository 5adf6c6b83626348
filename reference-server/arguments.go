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

// argument describes one argument of a tool: its JSON Schema is published
// and its values are checked from the same words.
type argument struct {
	name, description string
	kind              string // string, integer, number, boolean or point (a pair of numbers)
	required          bool
	standard          any      // the value when absent; int, string, bool or nil
	min, max          int      // of an integer
	oneOf             []string // the only strings allowed, if any
}

// values are the arguments of a call, checked: string, int, float64, bool or
// [2]float64 by kind.
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
		// Tuples are spelled differently in the dialects: 2020-12 is the
		// default since 2025-11-25, no dialect was named before.
		if r.AtLeast(spec.V20251125) {
			o["prefixItems"] = []object{number, number} // maxItems forbids more
		} else {
			o["items"] = number
		}
	}
	if a.oneOf != nil {
		o["enum"] = a.oneOf
	}
	if a.standard != nil {
		o["default"] = a.standard
	}
	return o
}

// read checks the arguments given against their description; the problem is
// empty when they fit.
func read(arguments []argument, given fields) (values, string) {
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
			out[a.name] = a.standard
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
		x, ok := number(raw)
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
			x, ok := number(e)
			if !ok {
				return nil, "an array of two numbers"
			}
			p[i] = x
		}
		return p, ""
	}
}

func number(raw jsontext.Value) (float64, bool) {
	if raw.Kind() != '0' {
		return 0, false
	}
	x, err := strconv.ParseFloat(string(raw), 64)
	return x, err == nil
}
