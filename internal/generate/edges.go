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

// plainWords are the keywords that do not restrict a value beyond its type. boundWords are the
// keywords that edgeValue understands, and rootWords those that plainArguments understands in a
// root schema.
var (
	plainWords = []string{"type", "title", "description", "default", "examples", "$comment"}
	boundWords = append(slices.Clone(plainWords), "minimum", "minLength", "minItems", "items")
	rootWords  = []string{"type", "title", "description", "properties", "required", "additionalProperties", "$schema", "$id", "$comment", "$defs", "definitions"}
)

// EdgeArguments returns arguments that often make tools fail: 0, "", [] and false as the members'
// values and, in a second set, -1 in place of 0. A member whose schema may not permit such a value
// keeps the value that Arguments chooses.
func EdgeArguments(schema jsontext.Value) []map[string]any {
	least, properties := plainArguments(schema)
	var out []map[string]any
	for _, number := range []float64{0, -1} {
		edge := maps.Clone(least)
		for name, schema := range properties {
			if v, ok := edgeValue(schema, number); ok && edge[name] != nil {
				edge[name] = v
			}
		}
		if !reflect.DeepEqual(edge, least) && !slices.ContainsFunc(out, func(have map[string]any) bool { return reflect.DeepEqual(have, edge) }) {
			out = append(out, edge)
		}
	}
	return out
}

// ArgumentsWithText returns the smallest arguments with text as the value of the alphabetically
// first member that certainly accepts every string. ok is false if there is no such member.
func ArgumentsWithText(schema jsontext.Value, text string) (arguments map[string]any, ok bool) {
	least, properties := plainArguments(schema)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if TakesAnyText(properties[name]) {
			arguments = maps.Clone(least)
			arguments[name] = text
			return arguments, true
		}
	}
	return nil, false
}

// TakesAnyText reports whether a schema certainly permits every string.
func TakesAnyText(schema jsontext.Value) bool {
	words, understood := knownKeywords(schema, plainWords)
	typeName, _ := wire.Text(words["type"])
	return understood && typeName == "string"
}

// plainArguments returns the smallest arguments and the schemas of the members. Both are nil if the
// root schema restricts more than its members, or if no arguments are certainly valid.
func plainArguments(schema jsontext.Value) (least map[string]any, properties map[string]jsontext.Value) {
	words, ok := knownKeywords(schema, rootWords)
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

// knownKeywords returns the keywords of a schema. ok is false if the schema has a keyword that is
// not in known.
func knownKeywords(schema jsontext.Value, known []string) (words map[string]jsontext.Value, ok bool) {
	names, words := wire.Members(schema)
	return words, words != nil && !slices.ContainsFunc(names, func(name string) bool {
		return !slices.Contains(known, name) && !strings.HasPrefix(name, "x-")
	})
}

// edgeValue returns the empty value of the schema's type ("", [] or false), or number if the type
// is numeric. ok is false if the schema may not permit that value.
func edgeValue(schema jsontext.Value, number float64) (v any, ok bool) {
	words, ok := knownKeywords(schema, boundWords)
	if !ok {
		return nil, false
	}
	meets := func(word string, n float64) bool {
		least, err := strconv.ParseFloat(string(words[word]), 64)
		return words[word] == nil || err == nil && least <= n
	}
	switch typeName, _ := wire.Text(words["type"]); typeName {
	case "number", "integer":
		return number, meets("minimum", number)
	case "string":
		return "", meets("minLength", 0)
	case "array":
		return []any{}, meets("minItems", 0)
	case "boolean":
		return false, true
	}
	return nil, false
}
