package generate

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"unicode/utf8"
)

// Limits for the schemas that are followed to generate one value.
const (
	maxSchemas = 1000
	maxDepth   = 16
)

// generator generates a value of a schema. It follows the keywords, and calls the methods of
// choices to decide what the keywords leave open.
type generator struct {
	document
	choices choices
	visited int // the number of schemas visited so far
}

// choices decides between the values that a schema permits. Its methods get a schema as the map of
// its keywords.
type choices interface {
	// namedValue returns a value that the schema names. ok is true if this value is to be used,
	// whatever other keywords the schema has.
	namedValue(o map[string]any) (v any, ok bool)
	// check returns an error if no value is to be generated from the schema. form is the result of
	// generator.form for it.
	check(form string, o map[string]any) error
	// alternatives returns those schemas of anyOf or oneOf that are to be tried, the first to try
	// first.
	alternatives(all []any) []any
	// typeName chooses one of the type names.
	typeName(names []string) string
	// includesOptional reports whether to generate the next optional member of an object.
	includesOptional(o map[string]any, depth int) bool
	// elements returns how many elements to generate, and how many of them a valid array needs.
	elements(o map[string]any, least, most int) (count, needed int)
	// text returns a string. The caller checks its length.
	text(o map[string]any, least, most int) (string, error)
	// number returns a number, an integer if whole is set.
	number(o map[string]any, whole bool) (json.Number, error)
	boolean() bool
	// word returns a string for a place in which every value is valid, or for the name of a member.
	word() string
}

// value returns a value of a schema inside the document, or an error that says
// why there is none.
func (d document) value(sub any, c choices) (any, error) {
	g := generator{document: d, choices: c}
	return g.valueFor(sub, 0)
}

func (g *generator) valueFor(sub any, depth int) (any, error) {
	g.visited++
	if g.visited > maxSchemas || depth > maxDepth {
		return nil, errors.New("the schema is too large, or without end")
	}
	if sub == true {
		return g.choices.word(), nil
	}
	o, ok := sub.(map[string]any)
	if !ok {
		return nil, errors.New("a schema permits nothing, or is none")
	}
	if v, ok := g.choices.namedValue(o); ok {
		return deepCopy(v), nil
	}
	form := g.form(o)
	if err := g.choices.check(form, o); err != nil {
		return nil, err
	}
	switch form {
	case "$ref":
		ref, _ := o[form].(string)
		target, err := g.lookUp(ref)
		if err != nil {
			return nil, err
		}
		return g.valueFor(target, depth+1)
	case "anyOf", "oneOf":
		return g.alternative(form, o, depth)
	case "allOf":
		all, _ := o[form].([]any)
		return g.valueFor(g.merge(withoutKeyword(o, form), all...), depth+1)
	case "object":
		return g.object(o, depth)
	case "array":
		return g.array(o, depth)
	case "string":
		least, most := sizeLimits(o, "minLength", "maxLength")
		s, err := g.choices.text(o, least, most)
		if n := utf8.RuneCountInString(s); err == nil && (n < least || n > most) {
			return nil, errors.New("a string of the length that is asked for can't be made")
		}
		return s, err
	case "integer", "number":
		return g.choices.number(o, form == "integer")
	case "boolean":
		return g.choices.boolean(), nil
	case "null":
		return nil, nil
	default:
		return nil, errors.New("there is no such type")
	}
}

// form returns the first of the keywords $ref, anyOf, oneOf and allOf that the schema has. If it
// has none, form returns a type that the schema permits, or "" if the keyword type is present but
// names no type.
func (g *generator) form(o map[string]any) string {
	for _, keyword := range []string{"$ref", "anyOf", "oneOf", "allOf"} {
		if hasKeyword(o, keyword) {
			return keyword
		}
	}
	names := typesOf(o)
	switch {
	case len(names) > 0:
		return g.choices.typeName(names)
	case hasKeyword(o, "type"):
		return ""
	case hasKeyword(o, "properties", "required", "additionalProperties"):
		return "object"
	case hasKeyword(o, "items", "prefixItems"):
		return "array"
	case hasKeyword(o, "minimum", "maximum"):
		return "number"
	default:
		return "string"
	}
}

func (g *generator) alternative(keyword string, o map[string]any, depth int) (v any, err error) {
	err = errors.New("there is no alternative")
	all, _ := o[keyword].([]any)
	others := withoutKeyword(o, keyword)
	for _, sub := range g.choices.alternatives(all) {
		if !hasOnlyAnnotations(others) {
			sub = g.merge(others, sub)
		}
		if v, err = g.valueFor(sub, depth+1); err == nil {
			return v, nil
		}
	}
	return nil, err
}

func (g *generator) object(o map[string]any, depth int) (any, error) {
	least, most := sizeLimits(o, "minProperties", "maxProperties")
	out := map[string]any{}
	add := func(name string) error {
		v, err := g.valueFor(memberSchema(o, name), depth+1)
		if err == nil {
			out[name] = v
		}
		return err
	}
	required := stringsIn(o["required"])
	if least > most || len(required) > most {
		return nil, errors.New("an object has to have more members than it may have")
	}
	for _, name := range required {
		if err := add(name); err != nil {
			return nil, err
		}
	}
	properties, _ := o["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if _, required := out[name]; !required && len(out) < most && g.choices.includesOptional(o, depth) {
			_ = add(name) // without a value, the member is left out
		}
	}
	for i := 0; len(out) < least && i < 2*least; i++ {
		if err := add(g.choices.word()); err != nil {
			return nil, err
		}
	}
	if len(out) < least {
		return nil, errors.New("an object has to have more members than were generated")
	}
	return out, nil
}

func (g *generator) array(o map[string]any, depth int) (any, error) {
	least, most := sizeLimits(o, "minItems", "maxItems")
	if least > most {
		return nil, errors.New("an array has to have more elements than it may have")
	}
	count, needed := g.choices.elements(o, least, most)
	first, rest := elementSchemas(o)
	out := []any{}
	for i := range count {
		sub := rest
		if i < len(first) {
			sub = first[i]
		}
		v, err := g.valueFor(sub, depth+1)
		if err != nil && i < needed {
			return nil, err
		}
		if err != nil {
			break
		}
		out = append(out, v)
	}
	return out, nil
}
