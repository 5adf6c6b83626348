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
// each: one that is required is left out, one is of another type, one is no
// member of its enum, one there is not. There is none of a sort for which the schema has no place.
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
	_, properties := wire.Members(wire.At(t.Raw, "/inputSchema/properties"))
	if string(wire.At(t.Raw, "/inputSchema/additionalProperties")) == "false" {
		more := maps.Clone(right)
		more["mcp-conform-extra"] = true
		out = append(out, Wrong{"an argument is given that there is not", more})
	}
	sorts := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		for what, v := range damaged(properties[name]) {
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

// damaged returns values that a property's schema forbids and that nobody
// would convert into what it permits.
func damaged(schema jsontext.Value) map[string]any {
	out := map[string]any{}
	if values := wire.Elements(wire.At(schema, "/enum")); len(values) > 0 && !listed(jsontext.Value(`"mcp-conform-none-of-these"`), wire.At(schema, "/enum")) {
		out["an argument is none of the values of its enum"] = "mcp-conform-none-of-these"
	}
	if v, ok := mistyped(schema); ok {
		out["an argument is of another type"] = v
	}
	if elements, ok := mistypedElements(schema); ok {
		out["the elements of an argument are of another type"] = elements
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
