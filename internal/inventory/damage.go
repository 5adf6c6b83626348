package inventory

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Wrong are arguments that break a tool's schema.
type Wrong struct {
	What      string // what is wrong with them
	Arguments map[string]any
}

// WrongArguments returns arguments that break the tool's schema in one place
// each: one that is required is left out, one is of another type, one that is
// an integer has a fraction, one is no member of its enum, one there is not; the
// same inside an argument that is an object or an array. There is none of a sort
// for which the schema has no place.
func (t Tool) WrongArguments() []Wrong {
	right, err := t.Arguments()
	if err != nil {
		return nil
	}
	var out []Wrong
	if required := t.Required(); len(required) > 0 {
		less := maps.Clone(right)
		delete(less, required[0])
		out = append(out, Wrong{"a required argument is left out", less})
	}
	input := wire.At(t.Raw, "/inputSchema")
	_, properties := wire.Members(wire.At(input, "/properties"))
	if string(wire.At(input, "/additionalProperties")) == "false" {
		more := maps.Clone(right)
		more["mcp-conform-extra"] = true
		out = append(out, Wrong{"an argument is given that there is not", more})
	}
	sorts := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		wrong := damaged(properties[name])
		maps.Copy(wrong, damagedInside(input, properties[name], 0))
		for what, v := range wrong {
			if sorts[what] {
				continue
			}
			sorts[what] = true
			other := maps.Clone(right)
			other[name] = v
			out = append(out, Wrong{what, other})
		}
	}
	slices.SortFunc(out, func(a, b Wrong) int { return strings.Compare(a.What, b.What) })
	return out
}

// damaged returns values that a property's schema forbids. Of a number with a
// fraction an integer may be made; of the others nobody would make what it permits.
func damaged(schema jsontext.Value) map[string]any {
	out := map[string]any{}
	if values := wire.Elements(wire.At(schema, "/enum")); len(values) > 0 && !listed(jsontext.Value(`"mcp-conform-none-of-these"`), wire.At(schema, "/enum")) {
		out["an argument is none of the values of its enum"] = "mcp-conform-none-of-these"
	}
	if v, ok := mistyped(schema); ok {
		out["an argument is of another type"] = v
	}
	if kind, _ := wire.Text(wire.At(schema, "/type")); kind == "integer" {
		out["an integer has a fraction"] = 1.5
	}
	if elements, ok := mistypedElements(schema); ok {
		out["the elements of an argument are of another type"] = elements
	}
	return out
}

// How a place inside an argument is told from the argument itself.
const (
	within      = "inside an argument, "
	withinArray = "inside an array, "
)

// damageDepth is how deep arguments are damaged.
const damageDepth = 3

// damagedInside returns values of a property that are of the type that its
// schema names, and hold a value that it forbids: as a member of an object, or
// as an element of an array.
func damagedInside(root, schema jsontext.Value, depth int) map[string]any {
	out := map[string]any{}
	add := func(part jsontext.Value, place string, whole func(any) any) {
		for what, v := range damagedInside(root, part, depth+1) {
			out[what] = whole(v)
		}
		for what, v := range damaged(part) {
			out[place+what] = whole(v)
		}
	}
	switch kind, _ := wire.Text(wire.At(schema, "/type")); {
	case depth == damageDepth:
	case kind == "object":
		made, err := (&maker{root: root}).value(schema, 0)
		right, ok := made.(map[string]any)
		if err != nil || !ok {
			break
		}
		if required := texts(wire.At(schema, "/required")); len(required) > 0 {
			less := maps.Clone(right)
			delete(less, required[0])
			out[within+"a required argument is left out"] = less
		}
		_, properties := wire.Members(wire.At(schema, "/properties"))
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			add(properties[name], within, func(v any) any {
				other := maps.Clone(right)
				other[name] = v
				return other
			})
		}
	case kind == "array" && wire.At(schema, "/prefixItems") == nil && wire.At(schema, "/items").Kind() == '{':
		add(wire.At(schema, "/items"), withinArray, func(v any) any { return []any{v} })
	}
	return out
}

// mistyped returns a value of a type that the schema forbids, if it names one.
func mistyped(schema jsontext.Value) (any, bool) {
	switch kind, _ := wire.Text(wire.At(schema, "/type")); kind {
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
func mistypedElements(schema jsontext.Value) ([]any, bool) {
	var elements []any
	found := false
	for _, place := range wire.Elements(wire.At(schema, "/prefixItems")) {
		v, ok := mistyped(place)
		elements, found = append(elements, v), found || ok
	}
	return elements, found
}
