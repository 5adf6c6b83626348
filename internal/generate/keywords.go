package generate

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// document is a JSON Schema, of draft-07 or 2020-12, inside which references
// are resolved.
type document struct{ root any }

// decode parses JSON, and keeps the text of numbers. It returns nil if raw is
// not JSON.
func decode(raw []byte) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// lookUp returns the schema that a reference inside the document points to.
func (d document) lookUp(ref string) (any, error) {
	pointer, inside := strings.CutPrefix(ref, "#")
	if !inside || pointer != "" && pointer[0] != '/' || strings.Contains(pointer, "%") {
		return nil, errors.New("a reference leads out of the schema")
	}
	sub := d.root
	for _, part := range strings.Split(pointer, "/")[1:] {
		switch v := sub.(type) {
		case map[string]any:
			sub = v[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return nil, errors.New("a reference points to no schema")
			}
			sub = v[i]
		default:
			return nil, errors.New("a reference points to no schema")
		}
	}
	return sub, nil
}

// resolve follows references until it finds a schema that is not a reference. It returns nil if a
// reference points to no schema, or if references form a cycle.
func (d document) resolve(sub any) any {
	for range maxDepth {
		o, _ := sub.(map[string]any)
		ref, ok := o["$ref"].(string)
		if !ok {
			return sub
		}
		var err error
		if sub, err = d.lookUp(ref); err != nil {
			return nil
		}
	}
	return nil
}

// merge returns a schema of the values that conform to o and to all other schemas, as far as their
// keywords can be combined. If several schemas have a keyword that can't be combined, the last one
// applies.
func (d document) merge(o map[string]any, others ...any) any {
	for _, sub := range others {
		switch resolved := d.resolve(sub).(type) {
		case map[string]any:
			o = mergeKeywords(o, resolved)
		case bool:
			if !resolved {
				return false
			}
		default:
			return nil
		}
	}
	return o
}

func mergeKeywords(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	for keyword, v := range b {
		switch have := out[keyword].(type) {
		case map[string]any:
			if more, ok := v.(map[string]any); ok && keyword == "properties" {
				v = mergeKeywords(have, more)
			}
		case []any:
			if more, ok := v.([]any); ok && keyword == "required" {
				v = slices.Concat(have, more)
			}
		}
		out[keyword] = v
	}
	return out
}

// withoutKeyword returns a schema without one of its keywords.
func withoutKeyword(o map[string]any, keyword string) map[string]any {
	out := maps.Clone(o)
	delete(out, keyword)
	return out
}

// hasKeyword reports whether a schema has one of the keywords.
func hasKeyword(o map[string]any, keywords ...string) bool {
	return slices.ContainsFunc(keywords, func(keyword string) bool { _, ok := o[keyword]; return ok })
}

// annotations are keywords that do not restrict values.
var annotations = []string{
	"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$schema", "$id", "$comment", "$defs", "definitions",
}

// hasOnlyAnnotations reports whether a schema has no keyword that restricts values.
func hasOnlyAnnotations(o map[string]any) bool {
	for keyword := range o {
		if !slices.Contains(annotations, keyword) {
			return false
		}
	}
	return true
}

// typesOf returns the names in the keyword type.
func typesOf(o map[string]any) []string {
	if name, ok := o["type"].(string); ok {
		return []string{name}
	}
	return stringsIn(o["type"])
}

// isOfType reports whether a value is of the type with this name.
func isOfType(name string, v any) bool {
	switch v := v.(type) {
	case nil:
		return name == "null"
	case string:
		return name == "string"
	case bool:
		return name == "boolean"
	case json.Number:
		x, err := v.Float64()
		return name == "number" || name == "integer" && err == nil && x == math.Trunc(x)
	case []any:
		return name == "array"
	default:
		return name == "object"
	}
}

// isOneOf reports whether v equals one of the values. Numbers are equal only if they are written in
// the same way.
func isOneOf(v any, all []any) bool {
	return slices.ContainsFunc(all, func(one any) bool { return reflect.DeepEqual(one, v) })
}

// stringsIn returns the strings in an array.
func stringsIn(v any) []string {
	all, _ := v.([]any)
	var out []string
	for _, one := range all {
		if s, ok := one.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// sizeOf returns the value of a keyword that limits a size, such as minItems.
func sizeOf(v any) (size int, ok bool) {
	text, _ := v.(json.Number)
	n, ok := wire.Integer(jsontext.Value(text))
	return int(n), ok && n >= 0
}

// sizeLimits returns the limits of a size, which two keywords such as minItems and maxItems set.
// Without the keywords they are 0 and math.MaxInt.
func sizeLimits(o map[string]any, minimum, maximum string) (least, most int) {
	least, _ = sizeOf(o[minimum])
	most, ok := sizeOf(o[maximum])
	if !ok {
		most = math.MaxInt
	}
	return least, most
}

// numberOf returns the value of a JSON number, if a float64 can represent it.
func numberOf(v any) (x float64, ok bool) {
	text, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	x, err := text.Float64()
	return x, err == nil
}

// elementSchemas returns the schemas of the first elements of an array, and the
// schema of all others.
func elementSchemas(o map[string]any) (first []any, rest any) {
	first, _ = o["prefixItems"].([]any)
	rest, ok := o["items"]
	if list, older := rest.([]any); older { // draft-07
		first = list
		rest, ok = o["additionalItems"]
	}
	if !ok {
		rest = true
	}
	return first, rest
}

// memberSchema returns the schema of the member with this name.
func memberSchema(o map[string]any, name string) any {
	properties, _ := o["properties"].(map[string]any)
	if sub, ok := properties[name]; ok {
		return sub
	}
	if sub, ok := o["additionalProperties"]; ok {
		return sub
	}
	return true
}

// deepCopy returns a copy of a JSON value that shares nothing with it.
func deepCopy(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			out = append(out, deepCopy(e))
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = deepCopy(e)
		}
		return out
	default:
		return v
	}
}
