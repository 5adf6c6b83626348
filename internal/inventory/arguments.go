package inventory

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Bounds on what is made from a schema.
const (
	maxSteps    = 1000 // schemas that are looked into
	maxDepth    = 16
	maxElements = 16   // of an array
	maxText     = 1000 // characters of a string
)

// Arguments returns arguments for the tool: only those that its schema
// requires, each as plain as it can be. The error says why that can't be done;
// then the schema asks for more than is understood here. Where arguments are
// known to be good, it returns the first of those.
func (t Tool) Arguments() (map[string]any, error) {
	if len(t.given) > 0 {
		return maps.Clone(t.given[0]), nil
	}
	return Arguments(wire.At(t.Raw, "/inputSchema"))
}

// More returns arguments for further calls of the tool: those that are known to
// be good, but for the first; where none are, all arguments at once that can be
// made, and the same with other values where the schema names several: with
// the last of an enum or of alternatives, with true, with elements in arrays.
// They are bounded, and differ from what Arguments returns.
func (t Tool) More() []map[string]any {
	if len(t.given) > 0 {
		return t.given[1:min(len(t.given), maxGiven)]
	}
	schema := wire.At(t.Raw, "/inputSchema")
	least, err := Arguments(schema)
	if err != nil {
		return nil
	}
	var out []map[string]any
	for _, m := range []*maker{{root: schema, every: true}, {root: schema, every: true, other: true}} {
		v, err := m.value(schema, 0)
		most, ok := v.(map[string]any)
		if ok && err == nil && !sameJSON(least, most) && !slices.ContainsFunc(out, func(have map[string]any) bool { return sameJSON(have, most) }) {
			out = append(out, most)
		}
	}
	return out
}

// sameJSON reports whether two values are written the same way.
func sameJSON(a, b map[string]any) bool { return bytes.Equal(wire.JSON(a), wire.JSON(b)) }

// maxGiven is how many calls of a tool are made that the user told of.
const maxGiven = 20

// Required returns the names of the arguments that the tool's schema requires.
func (t Tool) Required() []string {
	return texts(wire.At(t.Raw, "/inputSchema/required"))
}

// Arguments returns the smallest object that fits the JSON Schema of a tool's
// arguments. Values are those that the schema names itself (const, default,
// examples, enum), or made from its types and bounds. What can't be made for
// certain is an error.
func Arguments(schema jsontext.Value) (map[string]any, error) {
	m := &maker{root: schema}
	v, err := m.value(schema, 0)
	if err != nil {
		return nil, err
	}
	switch o := v.(type) {
	case map[string]any:
		return o, nil
	case jsontext.Value: // as the schema has it
		if _, members := wire.Members(o); members != nil {
			out := map[string]any{}
			for name, member := range members {
				out[name] = member
			}
			return out, nil
		}
	}
	return nil, errors.New("the schema is not that of an object")
}

// maker makes values from the schemas of one tool.
type maker struct {
	root  jsontext.Value
	steps int
	every bool // members that are not required are made, too, as far as they can be
	other bool // of several values that a schema names, the last is made, not the first
}

// beyond are the keywords that nothing is made for: a value that is made
// without regard to them may break them.
var beyond = []string{
	"allOf", "not", "if", "dependentRequired", "dependentSchemas", "dependencies", "$dynamicRef", "$recursiveRef",
	"pattern", "propertyNames", "contains", "unevaluatedProperties", "unevaluatedItems", "disallow", "extends",
}

func (m *maker) value(schema jsontext.Value, depth int) (any, error) {
	m.steps++
	if m.steps > maxSteps || depth > maxDepth {
		return nil, errors.New("the schema is too large, or without end")
	}
	switch schema.Kind() {
	case 't':
		return "text", nil
	case '{':
	default:
		return nil, errors.New("a schema permits nothing, or is none")
	}
	_, words := wire.Members(schema)
	if v := m.named(words); v != nil {
		return v, nil
	}
	if ref, ok := wire.Text(words["$ref"]); ok {
		if !alone(words, "$ref") {
			return nil, errors.New("a reference stands beside other keywords")
		}
		return m.referred(ref, depth)
	}
	for _, word := range beyond {
		if words[word] != nil {
			return nil, fmt.Errorf("the keyword %s is not understood", word)
		}
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		if words[word] != nil {
			if !alone(words, word) {
				return nil, fmt.Errorf("%s stands beside other keywords", word)
			}
			return m.choice(word, wire.Elements(words[word]), depth)
		}
	}
	return m.typed(words, depth)
}

// named returns a value that the schema names itself, or nil.
func (m *maker) named(words map[string]jsontext.Value) any {
	if v := words["const"]; v != nil {
		return v
	}
	candidates := append([]jsontext.Value{words["default"]}, wire.Elements(words["examples"])...)
	candidates = append(candidates, wire.Elements(words["enum"])...)
	if m.other {
		slices.Reverse(candidates)
		if words["enum"] == nil && string(words["default"]) == "false" {
			return nil // the other value of a boolean
		}
	}
	for _, v := range candidates {
		if v != nil && fitsType(v, words["type"]) && listed(v, words["enum"]) {
			return v
		}
	}
	return nil
}

// fitsType guards against a default that is of no permitted type.
func fitsType(v, types jsontext.Value) bool {
	if types == nil {
		return true
	}
	for _, t := range typeNames(types) {
		switch t {
		case "string":
			if v.Kind() == '"' {
				return true
			}
		case "integer":
			if _, ok := wire.Integer(v); ok {
				return true
			}
		case "number":
			if v.Kind() == '0' {
				return true
			}
		case "boolean":
			if v.Kind() == 't' || v.Kind() == 'f' {
				return true
			}
		case "array":
			if v.Kind() == '[' {
				return true
			}
		case "object":
			if v.Kind() == '{' {
				return true
			}
		case "null":
			if v.Kind() == 'n' {
				return true
			}
		}
	}
	return false
}

// listed tells whether v is one of the values of an enum, as it is written.
func listed(v, enum jsontext.Value) bool {
	return enum == nil || slices.ContainsFunc(wire.Elements(enum), func(e jsontext.Value) bool { return string(e) == string(v) })
}

// alone tells whether nothing but descriptions stands beside a keyword.
func alone(words map[string]jsontext.Value, word string) bool {
	for name := range words {
		switch name {
		case word, "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly",
			"$schema", "$id", "$comment", "$defs", "definitions":
		default:
			return false
		}
	}
	return true
}

// referred makes a value by the schema that a reference inside the document
// leads to.
func (m *maker) referred(ref string, depth int) (any, error) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && pointer[0] != '/' || strings.Contains(pointer, "%") {
		return nil, errors.New("a reference leads out of the schema")
	}
	return m.value(wire.At(m.root, pointer), depth+1)
}

// choice makes a value by the first alternative for which one can be made. Of
// oneOf it may fit no other, which is certain where their types differ.
func (m *maker) choice(word string, alternatives []jsontext.Value, depth int) (any, error) {
	kinds := map[string]bool{}
	for _, a := range alternatives {
		kind := string(wire.At(a, "/type"))
		if c := wire.At(a, "/const"); c != nil {
			kind = "const " + string(c)
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
	if m.other {
		alternatives = slices.Clone(alternatives)
		slices.Reverse(alternatives)
	}
	for _, a := range alternatives {
		var v any
		if v, err = m.value(a, depth+1); err == nil {
			return v, nil
		}
	}
	return nil, err
}

func (m *maker) typed(words map[string]jsontext.Value, depth int) (any, error) {
	kind := "string"
	switch names := typeNames(words["type"]); {
	case len(names) > 0:
		kind = names[0]
	case words["type"] != nil:
		return nil, errors.New("a type has no name")
	case words["properties"] != nil || words["required"] != nil:
		kind = "object"
	case words["items"] != nil || words["prefixItems"] != nil:
		kind = "array"
	}
	switch kind {
	case "object":
		return m.object(words, depth)
	case "array":
		return m.array(words, depth)
	case "string":
		return text(words)
	case "integer", "number":
		return number(words)
	case "boolean":
		return m.other, nil
	case "null":
		return jsontext.Value("null"), nil
	default:
		return nil, errors.New("there is no such type")
	}
}

// typeNames returns the types that a schema permits.
func typeNames(v jsontext.Value) []string {
	if name, ok := wire.Text(v); ok {
		return []string{name}
	}
	return texts(v)
}

func texts(v jsontext.Value) []string {
	var out []string
	for _, e := range wire.Elements(v) {
		if s, ok := wire.Text(e); ok {
			out = append(out, s)
		}
	}
	return out
}

func (m *maker) object(words map[string]jsontext.Value, depth int) (any, error) {
	required := texts(words["required"])
	if least, ok := wire.Integer(words["minProperties"]); ok && least > int64(len(required)) {
		return nil, errors.New("an object has to have more members than are named")
	}
	if most, ok := wire.Integer(words["maxProperties"]); ok && most < int64(len(required)) {
		return nil, errors.New("an object has to have more members than it may have")
	}
	if words["patternProperties"] != nil && len(required) > 0 {
		return nil, errors.New("the keyword patternProperties is not understood")
	}
	_, properties := wire.Members(words["properties"])
	out := map[string]any{}
	for _, name := range required {
		schema := properties[name]
		if schema == nil {
			schema = words["additionalProperties"]
		}
		if schema == nil {
			schema = jsontext.Value("true")
		}
		v, err := m.value(schema, depth+1)
		if err != nil {
			return nil, err
		}
		out[name] = v
	}
	if m.every {
		m.optional(words, out, depth)
	}
	return out, nil
}

// optionalDepth is how deep what is not required is nested.
const optionalDepth = 3

// optional adds the members that are not required, as far as they can be made
// and there may be so many. Where patterns of names have a say, it adds none.
func (m *maker) optional(words map[string]jsontext.Value, out map[string]any, depth int) {
	most, bounded := wire.Integer(words["maxProperties"])
	if words["patternProperties"] != nil || depth > optionalDepth {
		return
	}
	order, properties := wire.Members(words["properties"])
	for _, name := range order {
		if _, have := out[name]; have || bounded && int64(len(out)) >= most {
			continue
		}
		if v, err := m.value(properties[name], depth+1); err == nil {
			out[name] = v
		}
	}
}

func (m *maker) array(words map[string]jsontext.Value, depth int) (any, error) {
	least, _ := wire.Integer(words["minItems"])
	if m.other && least == 0 && mayHoldElement(words) {
		least = 1
	}
	if least > maxElements {
		return nil, errors.New("an array has to have very many elements")
	}
	if string(words["uniqueItems"]) == "true" && least > 1 {
		return nil, errors.New("the elements of an array have to differ")
	}
	first, rest := wire.Elements(words["prefixItems"]), words["items"]
	if rest.Kind() == '[' { // as older dialects write it
		first, rest = wire.Elements(rest), words["additionalItems"]
	}
	out := make([]any, 0, max(0, least))
	for i := range int(least) {
		schema := rest
		if i < len(first) {
			schema = first[i]
		}
		if schema == nil {
			schema = jsontext.Value("true")
		}
		v, err := m.value(schema, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// mayHoldElement reports whether an array may have an element, and it is said
// what it is.
func mayHoldElement(words map[string]jsontext.Value) bool {
	most, bounded := wire.Integer(words["maxItems"])
	return (words["items"].Kind() == '{' || words["prefixItems"] != nil) && !(bounded && most < 1)
}
