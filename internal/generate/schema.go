package generate

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Schema is a JSON Schema, of draft-07 or 2020-12, from which instances are
// drawn.
type Schema struct {
	raw       jsontext.Value
	root      any
	validator *schema.Validator
}

// NewSchema parses a schema of a server that speaks revision r. A schema that
// can't be parsed has no instances.
func NewSchema(raw jsontext.Value, r spec.Revision) *Schema {
	return &Schema{raw: raw, root: decode(raw), validator: schema.For(r)}
}

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

// Refuses reports whether the validator rejects the value.
func (s *Schema) Refuses(v any) bool {
	return len(s.validator.Structured(s.raw, wire.JSON(v))) > 0
}

// tries is the number of attempts to draw a valid value.
const tries = 4

// deepest is the depth to which schemas are followed.
const deepest = 8

// Instance is a value drawn from a schema.
type Instance struct {
	Value jsontext.Value
	// Violates is the one keyword that the value violates, and At its position.
	// Both are empty for a valid value.
	Violates, At string
	// OK reports whether there is a value and the validator agrees with
	// Violates.
	OK bool
}

// Valid draws a valid instance of the schema.
func (s *Schema) Valid() *rapid.Generator[Instance] {
	return rapid.Custom(func(t *rapid.T) Instance {
		always(t)
		if v, ok := s.valid(t); ok {
			return Instance{Value: wire.JSON(v), OK: true}
		}
		return Instance{}
	})
}

func (s *Schema) valid(t *rapid.T) (any, bool) {
	for range tries {
		if v, ok := s.draw(t, s.root, 0); ok && !s.Refuses(v) {
			return v, true
		}
	}
	return nil, false
}

// resolve follows references inside the document. It returns nil if a reference
// does not resolve.
func (s *Schema) resolve(sub any) any {
	for range deepest {
		o, ok := sub.(map[string]any)
		if !ok {
			return sub
		}
		ref, ok := o["$ref"].(string)
		if !ok {
			return sub
		}
		if sub = s.at(ref); sub == nil {
			return nil
		}
	}
	return nil
}

func (s *Schema) at(ref string) any {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	v := s.root
	for _, part := range strings.Split(pointer, "/")[1:] {
		switch o := v.(type) {
		case map[string]any:
			v = o[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(o) {
				return nil
			}
			v = o[i]
		default:
			return nil
		}
	}
	return v
}

// draw draws a value for a schema inside the document, based on the keywords
// that this code understands. The validator checks it afterwards.
func (s *Schema) draw(t *rapid.T, sub any, depth int) (any, bool) {
	if depth > deepest {
		return nil, false
	}
	sub = s.resolve(sub)
	switch o := sub.(type) {
	case bool:
		return plainText(t), o
	case map[string]any:
		return s.drawBy(t, o, depth)
	default:
		return nil, false
	}
}

func (s *Schema) drawBy(t *rapid.T, o map[string]any, depth int) (any, bool) {
	if c, ok := o["const"]; ok {
		return copied(c), true
	}
	if all, ok := o["enum"].([]any); ok && len(all) > 0 {
		return copied(rapid.SampledFrom(all).Draw(t, "enum")), true
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		if all, ok := o[word].([]any); ok && len(all) > 0 {
			chosen := s.resolve(rapid.SampledFrom(all).Draw(t, word))
			if m, ok := chosen.(map[string]any); ok {
				chosen = merged(o, m, word)
			}
			return s.draw(t, chosen, depth+1)
		}
	}
	if all, ok := o["allOf"].([]any); ok {
		whole := without(o, "allOf")
		for _, one := range all {
			if m, ok := s.resolve(one).(map[string]any); ok {
				whole = merged(whole, m, "")
			}
		}
		return s.draw(t, whole, depth+1)
	}
	switch kind(t, o) {
	case "object":
		return s.object(t, o, depth)
	case "array":
		return s.array(t, o, depth)
	case "string":
		return textBy(t, o)
	case "integer":
		return numberBy(t, o, true)
	case "number":
		return numberBy(t, o, false)
	case "boolean":
		return rapid.Bool().Draw(t, "boolean"), true
	case "null":
		return nil, true
	default:
		return nil, false
	}
}

// kind draws one of the types that the schema permits or implies.
func kind(t *rapid.T, o map[string]any) string {
	switch v := o["type"].(type) {
	case string:
		return v
	case []any:
		if len(v) > 0 {
			name, _ := rapid.SampledFrom(v).Draw(t, "type").(string)
			return name
		}
	}
	switch {
	case o["properties"] != nil, o["required"] != nil, o["additionalProperties"] != nil:
		return "object"
	case o["items"] != nil, o["prefixItems"] != nil:
		return "array"
	case o["minimum"] != nil, o["maximum"] != nil:
		return "number"
	default:
		return "string"
	}
}

// merged returns schema a with the members of b added. Properties that both
// schemas have are combined.
func merged(a, b map[string]any, drop string) map[string]any {
	out := without(a, drop)
	for name, v := range b {
		switch have := out[name].(type) {
		case map[string]any:
			if m, ok := v.(map[string]any); ok && name == "properties" {
				v = merged(have, m, "")
			}
		case []any:
			if more, ok := v.([]any); ok && name == "required" {
				v = append(slices.Clone(have), more...)
			}
		}
		out[name] = v
	}
	return out
}

func without(o map[string]any, name string) map[string]any {
	out := make(map[string]any, len(o))
	for k, v := range o {
		if k != name {
			out[k] = v
		}
	}
	return out
}

func (s *Schema) object(t *rapid.T, o map[string]any, depth int) (any, bool) {
	out := map[string]any{}
	required, _ := o["required"].([]any)
	properties, _ := o["properties"].(map[string]any)
	names := slices.Sorted(maps.Keys(properties))
	for _, r := range required {
		if name, ok := r.(string); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		needed := slices.Contains(required, any(name))
		if !needed && (depth >= deepest/2 || !chance(t, 50)) {
			continue
		}
		sub, ok := properties[name]
		if !ok {
			sub = anything(o)
		}
		v, ok := s.draw(t, sub, depth+1)
		switch {
		case ok:
			out[name] = v
		case needed:
			return nil, false
		}
	}
	least, _ := count(o["minProperties"])
	for i := 0; len(out) < least && i < 2*least; i++ {
		if v, ok := s.draw(t, anything(o), depth+1); ok {
			out[plainText(t)] = v
		}
	}
	return out, true
}

// anything returns the schema of members without a schema of their own.
func anything(o map[string]any) any {
	if sub, ok := o["additionalProperties"]; ok {
		return sub
	}
	return true
}

func (s *Schema) array(t *rapid.T, o map[string]any, depth int) (any, bool) {
	least, _ := count(o["minItems"])
	most, bounded := count(o["maxItems"])
	if !bounded {
		most = least + 3
	}
	if most < least || least > 1000 {
		return nil, false
	}
	prefix, items := elementSchemas(o)
	n := rapid.IntRange(least, min(most, least+6)).Draw(t, "elements")
	out := []any{}
	for i := range n {
		sub := items
		if i < len(prefix) {
			sub = prefix[i]
		}
		v, ok := s.draw(t, sub, depth+1)
		if !ok {
			if i < least {
				return nil, false
			}
			break
		}
		out = append(out, v)
	}
	return out, true
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

// copied returns a deep copy of a value.
func copied(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			out = append(out, copied(e))
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = copied(e)
		}
		return out
	default:
		return v
	}
}

func plainText(t *rapid.T) string { return someNames.Draw(t, "name") }
