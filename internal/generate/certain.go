package generate

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// The fuzzer draws instances of a schema, and the validator decides whether
// they are valid. A run, in contrast, calls tools with arguments that are
// certainly valid: the same each time, as simple as possible, and none if a
// schema has keywords that this code does not understand.

// Limits for what is generated from a schema.
const (
	maxSteps    = 1000 // schemas that are visited
	maxDepth    = 16
	maxElements = 16   // of an array
	maxText     = 1000 // characters of a string
)

// Arguments returns the smallest object that conforms to the JSON Schema of a
// tool's arguments. Its values are those that the schema names (const, default,
// examples, enum), or they are generated from types and limits. It returns an
// error if no certainly valid value can be generated.
func Arguments(schema jsontext.Value) (map[string]any, error) {
	return newCertain(schema).arguments()
}

// MoreArguments returns further arguments, which differ from those of
// Arguments: first all members that can be generated, and then the same members
// with other values where the schema offers a choice (the last value of an
// enum, the last alternative, true, elements in arrays).
func MoreArguments(schema jsontext.Value) []map[string]any {
	least, err := Arguments(schema)
	if err != nil {
		return nil
	}
	var out []map[string]any
	for _, other := range []bool{false, true} {
		c := newCertain(schema)
		c.every, c.other = true, other
		most, err := c.arguments()
		same := func(have map[string]any) bool { return reflect.DeepEqual(have, most) }
		if err == nil && !same(least) && !slices.ContainsFunc(out, same) {
			out = append(out, most)
		}
	}
	return out
}

// NamesValue reports whether a schema itself names a valid value.
func NamesValue(schema jsontext.Value) bool {
	o, _ := decode(schema).(map[string]any)
	_, ok := (&certain{}).named(o)
	return ok
}

// certain generates certainly valid values from the schemas of one tool.
type certain struct {
	*Schema
	steps int
	every bool // also generate optional members, if possible
	other bool // use the last of several values that a schema names, not the first
}

func newCertain(schema jsontext.Value) *certain {
	return &certain{Schema: &Schema{root: decode(schema)}}
}

func (c *certain) arguments() (map[string]any, error) {
	v, err := c.value(c.root, 0)
	if err != nil {
		return nil, err
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("the schema is not that of an object")
	}
	return o, nil
}

// notUnderstood are the keywords for which no value is generated, because a
// value that ignores them may violate them.
var notUnderstood = []string{
	"allOf", "not", "if", "dependentRequired", "dependentSchemas", "dependencies", "$dynamicRef", "$recursiveRef",
	"pattern", "propertyNames", "contains", "unevaluatedProperties", "unevaluatedItems", "disallow", "extends",
}

func (c *certain) value(sub any, depth int) (any, error) {
	c.steps++
	if c.steps > maxSteps || depth > maxDepth {
		return nil, errors.New("the schema is too large, or without end")
	}
	if sub == true {
		return "text", nil
	}
	o, ok := sub.(map[string]any)
	if !ok {
		return nil, errors.New("a schema permits nothing, or is none")
	}
	if v, ok := c.named(o); ok {
		return copied(v), nil
	}
	if ref, ok := o["$ref"].(string); ok {
		if !alone(o, "$ref") {
			return nil, errors.New("a reference is next to other keywords")
		}
		return c.referred(ref, depth)
	}
	for _, word := range notUnderstood {
		if _, has := o[word]; has {
			return nil, fmt.Errorf("the keyword %s is not understood", word)
		}
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		if alternatives, has := o[word]; has {
			if !alone(o, word) {
				return nil, fmt.Errorf("%s is next to other keywords", word)
			}
			all, _ := alternatives.([]any)
			return c.choice(word, all, depth)
		}
	}
	return c.typed(o, depth)
}

// named returns a value that the schema names.
func (c *certain) named(o map[string]any) (any, bool) {
	if v, ok := o["const"]; ok {
		return v, true
	}
	var candidates []any
	standard, ok := o["default"]
	if ok {
		candidates = append(candidates, standard)
	}
	examples, _ := o["examples"].([]any)
	enum, _ := o["enum"].([]any)
	candidates = slices.Concat(candidates, examples, enum)
	if c.other {
		slices.Reverse(candidates)
		if o["enum"] == nil && standard == false {
			return nil, false // the other value of a boolean
		}
	}
	types := typesOf(o)
	for _, v := range candidates {
		if (o["type"] == nil || slices.ContainsFunc(types, func(name string) bool { return isOf(name, v) })) && (o["enum"] == nil || isOneOf(v, enum)) {
			return v, true
		}
	}
	return nil, false
}

// isOneOf reports whether v equals one of the values, numbers by their text.
func isOneOf(v any, all []any) bool {
	return slices.ContainsFunc(all, func(one any) bool { return reflect.DeepEqual(one, v) })
}

// alone reports whether a keyword has only annotations next to it.
func alone(o map[string]any, word string) bool {
	for name := range o {
		switch name {
		case word, "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly",
			"$schema", "$id", "$comment", "$defs", "definitions":
		default:
			return false
		}
	}
	return true
}

// referred generates a value for the schema that a reference inside the
// document points to.
func (c *certain) referred(ref string, depth int) (any, error) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && pointer[0] != '/' || strings.Contains(pointer, "%") {
		return nil, errors.New("a reference leads out of the schema")
	}
	return c.value(c.at(ref), depth+1)
}

// choice generates a value for the first alternative that allows it. With oneOf
// the value must not match another alternative, which is certain only if their
// types differ.
func (c *certain) choice(word string, alternatives []any, depth int) (any, error) {
	kinds := map[string]bool{}
	for _, a := range alternatives {
		o, _ := a.(map[string]any)
		kind := ""
		if t, ok := o["type"]; ok {
			kind = string(wire.JSON(t))
		}
		if v, ok := o["const"]; ok {
			kind = "const " + string(wire.JSON(v))
		}
		if word == "oneOf" && (kind == "" || kinds[kind]) {
			return nil, errors.New("the alternatives of oneOf can't be told apart")
		}
		kinds[kind] = true
	}
	if word == "oneOf" && kinds[`"integer"`] && kinds[`"number"`] {
		return nil, errors.New("the alternatives of oneOf can't be told apart")
	}
	err := errors.New("there is no alternative")
	if c.other {
		alternatives = slices.Clone(alternatives)
		slices.Reverse(alternatives)
	}
	for _, a := range alternatives {
		var v any
		if v, err = c.value(a, depth+1); err == nil {
			return v, nil
		}
	}
	return nil, err
}

func (c *certain) typed(o map[string]any, depth int) (any, error) {
	kind := "string"
	switch names := typesOf(o); {
	case len(names) > 0:
		kind = names[0]
	case has(o, "type"):
		return nil, errors.New("a type has no name")
	case has(o, "properties") || has(o, "required"):
		kind = "object"
	case has(o, "items") || has(o, "prefixItems"):
		kind = "array"
	}
	switch kind {
	case "object":
		return c.certainObject(o, depth)
	case "array":
		return c.certainArray(o, depth)
	case "string":
		return certainText(o)
	case "integer", "number":
		return certainNumber(o)
	case "boolean":
		return c.other, nil
	case "null":
		return nil, nil
	default:
		return nil, errors.New("there is no such type")
	}
}

func has(o map[string]any, name string) bool { _, ok := o[name]; return ok }

// textsIn returns the strings in an array.
func textsIn(v any) []string {
	all, _ := v.([]any)
	var out []string
	for _, one := range all {
		if s, ok := one.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// integer returns the value as an integer, if it is an integer.
func integer(v any) (int64, bool) {
	n, _ := v.(json.Number)
	return wire.Integer(jsontext.Value(n))
}

func (c *certain) certainObject(o map[string]any, depth int) (any, error) {
	required := textsIn(o["required"])
	if least, ok := integer(o["minProperties"]); ok && least > int64(len(required)) {
		return nil, errors.New("an object has to have more members than are named")
	}
	if most, ok := integer(o["maxProperties"]); ok && most < int64(len(required)) {
		return nil, errors.New("an object has to have more members than it may have")
	}
	if has(o, "patternProperties") && len(required) > 0 {
		return nil, errors.New("the keyword patternProperties is not understood")
	}
	properties, _ := o["properties"].(map[string]any)
	out := map[string]any{}
	for _, name := range required {
		sub, ok := properties[name]
		if !ok {
			sub = anything(o)
		}
		v, err := c.value(sub, depth+1)
		if err != nil {
			return nil, err
		}
		out[name] = v
	}
	if c.every {
		c.optional(o, out, depth)
	}
	return out, nil
}

// optionalDepth is the nesting depth up to which optional members are
// generated.
const optionalDepth = 3

// optional adds the optional members that can be generated, up to
// maxProperties. It adds none if the schema has patternProperties.
func (c *certain) optional(o, out map[string]any, depth int) {
	most, bounded := integer(o["maxProperties"])
	if has(o, "patternProperties") || depth > optionalDepth {
		return
	}
	properties, _ := o["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if has(out, name) || bounded && int64(len(out)) >= most {
			continue
		}
		if v, err := c.value(properties[name], depth+1); err == nil {
			out[name] = v
		}
	}
}

func (c *certain) certainArray(o map[string]any, depth int) (any, error) {
	least, _ := integer(o["minItems"])
	if c.other && least == 0 && mayHoldElement(o) {
		least = 1
	}
	if least > maxElements {
		return nil, errors.New("an array has to have very many elements")
	}
	if o["uniqueItems"] == true && least > 1 {
		return nil, errors.New("the elements of an array have to differ")
	}
	first, rest := elementSchemas(o)
	out := make([]any, 0, max(0, least))
	for i := range int(least) {
		sub := rest
		if i < len(first) {
			sub = first[i]
		}
		v, err := c.value(sub, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// mayHoldElement reports whether an array may have an element that its schema
// describes.
func mayHoldElement(o map[string]any) bool {
	most, bounded := integer(o["maxItems"])
	_, described := o["items"].(map[string]any)
	return (described || has(o, "prefixItems")) && (!bounded || most >= 1)
}

func certainText(o map[string]any) (any, error) {
	s := "text"
	format, formatted := o["format"].(string)
	if formatted {
		examples := formats[format]
		if len(examples) == 0 {
			return nil, errors.New("the format of a string is not known")
		}
		s = examples[0]
	}
	least, _ := integer(o["minLength"])
	most, bounded := integer(o["maxLength"])
	if !formatted && least <= maxText {
		if bounded && most >= 0 && most < int64(len(s)) {
			s = s[:most]
		}
		s += strings.Repeat("x", max(0, int(least)-len(s)))
	}
	if n := int64(utf8.RuneCountInString(s)); n < least || bounded && n > most {
		return nil, errors.New("a string of the length that is asked for can't be made")
	}
	return s, nil
}

// certainNumber returns a valid number, an integer if one is valid.
func certainNumber(o map[string]any) (any, error) {
	candidates := []float64{1, 0}
	for _, name := range []string{"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"} {
		if !has(o, name) {
			continue
		}
		x, ok := real(o[name])
		if !ok {
			return nil, errors.New("a bound is not a number") // in draft 4 some limits are booleans
		}
		candidates = append(candidates, math.Ceil(x), math.Floor(x), math.Floor(x)+1, math.Ceil(x)-1)
	}
	step := 0.0
	if has(o, "multipleOf") {
		var ok bool
		if step, ok = real(o["multipleOf"]); !ok || step <= 0 {
			return nil, errors.New("the step is not a number above zero")
		}
		for _, x := range candidates {
			candidates = append(candidates, math.Ceil(x/step)*step)
		}
	}
	for _, x := range candidates {
		if inside(x, o) && math.Abs(x) < 1<<53 && x == math.Trunc(x) && (step == 0 || math.Mod(x, step) == 0) {
			return json.Number(strconv.FormatInt(int64(x), 10)), nil
		}
	}
	return nil, errors.New("no number was found between the bounds")
}

func inside(x float64, o map[string]any) bool {
	for name, keeps := range map[string]func(bound float64) bool{
		"minimum": func(b float64) bool { return x >= b }, "exclusiveMinimum": func(b float64) bool { return x > b },
		"maximum": func(b float64) bool { return x <= b }, "exclusiveMaximum": func(b float64) bool { return x < b },
	} {
		if bound, ok := real(o[name]); ok && !keeps(bound) {
			return false
		}
	}
	return true
}
