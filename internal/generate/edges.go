package generate

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// plainWords are the keywords of a schema next to which any value of its type
// is as good, and boundWords those that EdgeArguments heeds, too.
var (
	plainWords = []string{"type", "title", "description", "default", "examples", "$comment"}
	boundWords = append(slices.Clone(plainWords), "minimum", "minLength", "minItems", "items")
	rootWords  = []string{"type", "title", "description", "properties", "required", "additionalProperties", "$schema", "$id", "$comment", "$defs", "definitions"}
)

// EdgeArguments returns arguments at which tools are known to go wrong: with 0, "",
// [] and false in place of the members' values, and with -1. A member of which the
// schema says more than is understood here keeps its value.
func EdgeArguments(schema jsontext.Value) []map[string]any {
	least, properties := plainArguments(schema)
	var out []map[string]any
	for _, number := range []float64{0, -1} {
		edge := maps.Clone(least)
		for name, schema := range properties {
			if v, ok := edgeOf(schema, number); ok && edge[name] != nil {
				edge[name] = v
			}
		}
		if !reflect.DeepEqual(edge, least) && !slices.ContainsFunc(out, func(have map[string]any) bool { return reflect.DeepEqual(have, edge) }) {
			out = append(out, edge)
		}
	}
	return out
}

// ArgumentsWithText returns the least arguments, with text in the first member, by
// name, that may be any string.
func ArgumentsWithText(schema jsontext.Value, text string) (arguments map[string]any, ok bool) {
	least, properties := plainArguments(schema)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		words, has := keywords(properties[name], plainWords)
		if kind, _ := wire.Text(words["type"]); has && kind == "string" {
			arguments = maps.Clone(least)
			arguments[name] = text
			return arguments, true
		}
	}
	return nil, false
}

// plainArguments returns the least arguments and the schemas of the members, nil
// where the schema says more than which members there are.
func plainArguments(schema jsontext.Value) (least map[string]any, properties map[string]jsontext.Value) {
	words, ok := keywords(schema, rootWords)
	if !ok {
		return nil, nil
	}
	least, err := Arguments(schema)
	if err != nil {
		return nil, nil
	}
	_, properties = wire.Members(words["properties"])
	return least, properties
}

// keywords returns the keywords of a schema; ok is false where it has others than
// the known ones.
func keywords(schema jsontext.Value, known []string) (words map[string]jsontext.Value, ok bool) {
	names, words := wire.Members(schema)
	return words, words != nil && !slices.ContainsFunc(names, func(name string) bool {
		return !slices.Contains(known, name) && !strings.HasPrefix(name, "x-")
	})
}

// edgeOf returns the value of the schema's type that has nothing in it, or the
// number.
func edgeOf(schema jsontext.Value, number float64) (v any, ok bool) {
	words, ok := keywords(schema, boundWords)
	if !ok {
		return nil, false
	}
	atLeast := func(word string, n float64) bool {
		least, err := strconv.ParseFloat(string(words[word]), 64)
		return words[word] == nil || err == nil && least <= n
	}
	switch kind, _ := wire.Text(words["type"]); kind {
	case "number", "integer":
		return number, atLeast("minimum", number)
	case "string":
		return "", atLeast("minLength", 0)
	case "array":
		return []any{}, atLeast("minItems", 0)
	case "boolean":
		return false, true
	}
	return nil, false
}
