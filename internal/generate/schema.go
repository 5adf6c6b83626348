package generate

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"sort"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Schema is a JSON Schema, of draft-07 or of 2020-12, that instances are drawn
// from.
type Schema struct {
	raw       jsontext.Value
	root      any
	validator *schema.Validator
}

// NewSchema reads a schema as servers of revision r write it. One that can't be
// read has no instances.
func NewSchema(raw jsontext.Value, r spec.Revision) *Schema {
	return &Schema{raw: raw, root: decode(raw), validator: schema.For(r)}
}

// decode reads JSON; numbers keep their text. It returns nil for what is none.
func decode(raw []byte) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// refuses tells whether the validator finds fault with the value.
func (s *Schema) refuses(v any) bool {
	return len(s.validator.Structured(s.raw, wire.JSON(v))) > 0
}

// tries is how often a value is drawn before it is given up.
const tries = 4

// deepest is how deep schemas are followed.
const deepest = 8

// Instance is a value drawn from a schema.
type Instance struct {
	Value jsontext.Value
	// Violates is the one keyword that the value does not keep, and At where;
	// both are empty for a value that fits.
	Violates, At string
	// OK: there is a value, and the validator agrees with what is said of it.
	OK bool
}

// Valid draws an instance of the schema.
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
		if v, ok := s.draw(t, s.root, 0); ok && !s.refuses(v) {
			return v, true
		}
	}
	return nil, false
}

// resolve follows references inside the document; it returns nil where that
// leads nowhere.
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
		o, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = o[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return v
}

// draw draws a value by a schema inside the document, with regard to the
// keywords that are understood; the validator has the last word.
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

// kind draws one of the types that the schema permits, or seems to mean.
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

// merged is the schema a with the members of b; of the properties both have a
// say.
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
	names := sortedNames(properties)
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

// anything is the schema of members that have no schema of their own.
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
	prefix, _ := o["prefixItems"].([]any)
	items, ok := o["items"]
	if list, older := items.([]any); older { // of draft-07
		prefix, items, ok = list, o["additionalItems"], o["additionalItems"] != nil
	}
	if !ok {
		items = true
	}
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

func textBy(t *rapid.T, o map[string]any) (any, bool) {
	if pattern, ok := o["pattern"].(string); ok {
		return matching(t, pattern)
	}
	if format, ok := o["format"].(string); ok {
		if examples := formats[format]; len(examples) > 0 {
			return rapid.SampledFrom(examples).Draw(t, format), true
		}
	}
	least, bounded := count(o["minLength"])
	most, limited := count(o["maxLength"])
	if !limited {
		most = max(least, 1024)
	}
	if most < least || least > 1<<17 {
		return nil, false
	}
	if !bounded && !limited {
		return text.Draw(t, "text"), true
	}
	n := rapid.SampledFrom([]int{least, most, min(least+1, most), (least + most) / 2}).Draw(t, "length")
	return repeated(someWords.Draw(t, "word"), n), true
}

// matching draws a text that a pattern finds; ECMA-262 has some that Go has
// not.
func matching(t *rapid.T, pattern string) (v any, ok bool) {
	if !compiles(pattern) {
		return nil, false
	}
	return rapid.StringMatching(pattern).Draw(t, "pattern"), true
}

var formats = map[string][]string{
	"date": {"2026-01-31", "2024-02-29", "1970-01-01"}, "time": {"12:00:00Z", "23:59:59+01:00"},
	"date-time": {"2026-01-31T12:00:00Z", "2024-02-29T23:59:59.999999999+14:00"}, "duration": {"P1D", "PT1H30M"},
	"email": {"a@example.com", "x+y@example.org"}, "hostname": {"example.com", "localhost"},
	"ipv4": {"127.0.0.1", "255.255.255.255"}, "ipv6": {"::1", "2001:db8::1"},
	"uri": {"https://example.com/a?b=c#d", "urn:isbn:0451450523", "file:///a%20b"}, "uri-reference": {"../a", "#x", ""},
	"uuid": {"123e4567-e89b-12d3-a456-426614174000"}, "regex": {"^a+$"}, "json-pointer": {"/a/0", ""},
}

func numberBy(t *rapid.T, o map[string]any, whole bool) (any, bool) {
	low, high := bound(o, "minimum", "exclusiveMinimum", math.Inf(-1), 1), bound(o, "maximum", "exclusiveMaximum", math.Inf(1), -1)
	step, stepped := real(o["multipleOf"])
	if stepped && step > 0 {
		base := 0.0
		if !math.IsInf(low, 0) {
			base = math.Ceil(low/step) * step
		} else if !math.IsInf(high, 0) {
			base = math.Floor(high/step) * step
		}
		return exact(base + step*float64(rapid.IntRange(0, 3).Draw(t, "steps"))), true
	}
	if math.IsInf(low, -1) && math.IsInf(high, 1) {
		if whole {
			return rapid.SampledFrom(integers).Draw(t, "integer"), true
		}
		return rapid.SampledFrom(finite).Draw(t, "number"), true
	}
	var candidates []float64
	for _, x := range []float64{low, high, low + 1, high - 1, 0, 1, -1, (low + high) / 2} {
		if whole {
			x = math.Trunc(x)
		}
		if x >= low && x <= high && !math.IsInf(x, 0) && !math.IsNaN(x) {
			candidates = append(candidates, x)
		}
	}
	if len(candidates) == 0 {
		return nil, false
	}
	return exact(rapid.SampledFrom(candidates).Draw(t, "number")), true
}

// integers and finite are those of numbers that any program can hold.
var integers = []json.Number{
	"0", "1", "-1", "2", "10", "100", "255", "256", "1000", "65535", "65536", "2147483647", "-2147483648", "9007199254740991", "-9007199254740991",
}

var finite = append([]json.Number{"0.5", "-1.5", "1.0", "1e2", "1e308", "-1.7976931348623157e308", "5e-324", "0.1", "-0.0"}, integers...)

// bound returns the limit that two keywords set together; beside is where the
// next number inside an exclusive one lies.
func bound(o map[string]any, inclusive, exclusive string, none, beside float64) float64 {
	out := none
	if x, ok := real(o[inclusive]); ok {
		out = x
	}
	if x, ok := real(o[exclusive]); ok {
		if next := x + beside; beside > 0 && (math.IsInf(out, -1) || next > out) || beside < 0 && (math.IsInf(out, 1) || next < out) {
			out = next
		}
	}
	return out
}

// exact writes a number without an exponent where that is short.
func exact(x float64) json.Number {
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return json.Number(big.NewInt(int64(x)).String())
	}
	return json.Number(wire.JSON(x))
}

func real(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	x, err := n.Float64()
	return x, err == nil
}

func count(v any) (int, bool) {
	x, ok := real(v)
	if !ok || x < 0 || x > 1<<30 {
		return 0, false
	}
	return int(x), true
}

func sortedNames(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// copied returns a value that may be altered.
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

func sortedKeys(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
