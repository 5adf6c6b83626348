package generate

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// InvalidArguments are arguments that violate a tool's schema.
type InvalidArguments struct {
	What      string // what is wrong with them
	Arguments map[string]any
}

// WrongArguments returns arguments that violate a tool's schema in one position each and are valid
// otherwise. The argument right holds valid arguments. Each result is a copy of them with one
// change: an argument is missing although it is required, has another type, has a fraction although
// it must be an integer, is not a member of its enum, or is unknown; or there is such a violation
// inside an argument that is an object or an array. A kind of violation is omitted if the schema
// has no position for it. Apart from rounding the fraction, no conversion that programs commonly
// make turns the arguments into valid ones, unlike many values that Invalid draws.
func WrongArguments(input jsontext.Value, right map[string]any) []InvalidArguments {
	var out []InvalidArguments
	d := document{decode(input)}
	root, _ := d.root.(map[string]any)
	if required := stringsIn(root["required"]); len(required) > 0 {
		less := maps.Clone(right)
		delete(less, required[0])
		out = append(out, InvalidArguments{"a required argument is left out", less})
	}
	if root["additionalProperties"] == false {
		more := maps.Clone(right)
		more["mcp-conform-extra"] = true
		out = append(out, InvalidArguments{"an argument is given that there is not", more})
	}
	properties, _ := root["properties"].(map[string]any)
	kinds := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		wrong := forbiddenValues(properties[name])
		maps.Copy(wrong, d.damagedInside(properties[name], 0))
		for what, v := range wrong {
			if kinds[what] {
				continue
			}
			kinds[what] = true
			other := maps.Clone(right)
			other[name] = v
			out = append(out, InvalidArguments{what, other})
		}
	}
	slices.SortFunc(out, func(a, b InvalidArguments) int { return strings.Compare(a.What, b.What) })
	return out
}

// noneOfThese is a value that is not in any enum.
const noneOfThese = "mcp-conform-none-of-these"

// forbiddenValues returns values that a property's schema forbids. Programs may round the value
// that has a fraction, but they do not convert the others to permitted values.
func forbiddenValues(sub any) map[string]any {
	out := map[string]any{}
	o, _ := sub.(map[string]any)
	if values, _ := o["enum"].([]any); len(values) > 0 && !slices.Contains(stringsIn(o["enum"]), noneOfThese) {
		out["an argument is none of the values of its enum"] = noneOfThese
	}
	if v, ok := valueOfWrongType(o); ok {
		out["an argument is of another type"] = v
	}
	if o["type"] == "integer" {
		out["an integer has a fraction"] = 1.5
	}
	if elements, ok := mistypedElements(o); ok {
		out["the elements of an argument are of another type"] = elements
	}
	return out
}

// These prefixes distinguish a position inside an argument from the argument
// itself.
const (
	insideArgument = "inside an argument, "
	insideArray    = "inside an array, "
)

// damageDepth is the depth to which arguments are changed.
const damageDepth = 3

// damagedInside returns objects or arrays of the property's type whose content its schema forbids:
// an object lacks a required member or has a member with a forbidden value, or an array has a
// forbidden element. The keys of the map say what is wrong.
func (d document) damagedInside(sub any, depth int) map[string]any {
	out := map[string]any{}
	o, _ := sub.(map[string]any)
	add := func(part any, place string, whole func(any) any) {
		for what, v := range d.damagedInside(part, depth+1) {
			out[what] = whole(v)
		}
		for what, v := range forbiddenValues(part) {
			out[place+what] = whole(v)
		}
	}
	switch items, _ := o["items"].(map[string]any); {
	case depth == damageDepth:
	case o["type"] == "object":
		made, err := d.value(sub, certainChoices{})
		right, ok := made.(map[string]any)
		if err != nil || !ok {
			break
		}
		if required := stringsIn(o["required"]); len(required) > 0 {
			less := maps.Clone(right)
			delete(less, required[0])
			out[insideArgument+"a required argument is left out"] = less
		}
		properties, _ := o["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			add(properties[name], insideArgument, func(v any) any {
				other := maps.Clone(right)
				other[name] = v
				return other
			})
		}
	case o["type"] == "array" && !hasKeyword(o, "prefixItems") && items != nil:
		add(items, insideArray, func(v any) any { return []any{v} })
	}
	return out
}

// valueOfWrongType returns a value of a type that the schema forbids. It returns false if the
// schema names no type.
func valueOfWrongType(sub any) (any, bool) {
	o, _ := sub.(map[string]any)
	switch o["type"] {
	case "string":
		return map[string]any{"mcp-conform": []any{}}, true
	case "integer", "number", "boolean":
		return map[string]any{"mcp-conform": "neither"}, true
	case "array", "object":
		return 5, true
	default:
		return nil, false
	}
}

// mistypedElements returns an array in which each element has a type that the
// schema forbids in its position, or is null if the schema names no type there. It
// returns false if the schema names no type in any position.
func mistypedElements(o map[string]any) ([]any, bool) {
	var elements []any
	found := false
	prefix, _ := o["prefixItems"].([]any)
	for _, place := range prefix {
		v, ok := valueOfWrongType(place)
		elements, found = append(elements, v), found || ok
	}
	return elements, found
}
