package generate

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// InvalidArguments are arguments that break a tool's schema.
type InvalidArguments struct {
	What      string // what is wrong with them
	Arguments map[string]any
}

// WrongArguments returns arguments that break a tool's schema in one place each,
// and are right otherwise: one that is required is left out, one is of another
// type, one that is an integer has a fraction, one is no member of its enum, one
// there is not; the same inside an argument that is an object or an array. There
// is none of a sort for which the schema has no place. Other than what Invalid
// draws, no server that converts what it is given makes of them what is permitted.
func WrongArguments(input jsontext.Value, right map[string]any) []InvalidArguments {
	var out []InvalidArguments
	c := newCertain(input)
	root, _ := c.root.(map[string]any)
	if required := textsIn(root["required"]); len(required) > 0 {
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
	sorts := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		wrong := damaged(properties[name])
		maps.Copy(wrong, c.damagedInside(properties[name], 0))
		for what, v := range wrong {
			if sorts[what] {
				continue
			}
			sorts[what] = true
			other := maps.Clone(right)
			other[name] = v
			out = append(out, InvalidArguments{what, other})
		}
	}
	slices.SortFunc(out, func(a, b InvalidArguments) int { return strings.Compare(a.What, b.What) })
	return out
}

// noneOfThese is a value that no enum has.
const noneOfThese = "mcp-conform-none-of-these"

// damaged returns values that a property's schema forbids. Of a number with a
// fraction an integer may be made; of the others nobody would make what it permits.
func damaged(sub any) map[string]any {
	out := map[string]any{}
	o, _ := sub.(map[string]any)
	if values, _ := o["enum"].([]any); len(values) > 0 && !slices.Contains(textsIn(o["enum"]), noneOfThese) {
		out["an argument is none of the values of its enum"] = noneOfThese
	}
	if v, ok := mistyped(o); ok {
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

// How a place inside an argument is told from the argument itself.
const (
	insideArgument = "inside an argument, "
	insideArray    = "inside an array, "
)

// damageDepth is how deep arguments are damaged.
const damageDepth = 3

// damagedInside returns values of a property that are of the type that its
// schema names, and hold a value that it forbids: as a member of an object, or
// as an element of an array.
func (c *certain) damagedInside(sub any, depth int) map[string]any {
	out := map[string]any{}
	o, _ := sub.(map[string]any)
	add := func(part any, place string, whole func(any) any) {
		for what, v := range c.damagedInside(part, depth+1) {
			out[what] = whole(v)
		}
		for what, v := range damaged(part) {
			out[place+what] = whole(v)
		}
	}
	switch items, _ := o["items"].(map[string]any); {
	case depth == damageDepth:
	case o["type"] == "object":
		made, err := (&certain{Schema: c.Schema}).value(sub, 0)
		right, ok := made.(map[string]any)
		if err != nil || !ok {
			break
		}
		if required := textsIn(o["required"]); len(required) > 0 {
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
	case o["type"] == "array" && !has(o, "prefixItems") && items != nil:
		add(items, insideArray, func(v any) any { return []any{v} })
	}
	return out
}

// mistyped returns a value of a type that the schema forbids, if it names one.
func mistyped(sub any) (any, bool) {
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

// mistypedElements returns an array with an element of a type that the schema
// forbids in its place, if there is such a place.
func mistypedElements(o map[string]any) ([]any, bool) {
	var elements []any
	found := false
	prefix, _ := o["prefixItems"].([]any)
	for _, place := range prefix {
		v, ok := mistyped(place)
		elements, found = append(elements, v), found || ok
	}
	return elements, found
}
