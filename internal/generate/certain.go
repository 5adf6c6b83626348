package generate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// certainChoices chooses values that are certainly valid, for the calls of a run. The values are
// the same each time, and as simple as possible. It chooses no value if a schema has keywords that
// the generator does not understand.
type certainChoices struct {
	every bool // generate all members of objects that can be generated, not only the required ones
	last  bool // use the last of several values that a schema names, not the first
	// agrees is set for the forms of elicitations. Then booleans are true, and arrays have an
	// element.
	agrees bool
}

// Limits for what is generated from a schema with certainty.
const (
	maxElements = 16   // elements of an array
	maxText     = 1000 // characters of a string
	// optionalDepth is the nesting depth up to which optional members are generated.
	optionalDepth = 3
)

// unsupportedKeywords are the keywords that make generation fail. A value that was generated
// without regard to them might be invalid.
var unsupportedKeywords = []string{
	"allOf", "not", "if", "dependentRequired", "dependentSchemas", "dependencies", "$dynamicRef", "$recursiveRef",
	"pattern", "propertyNames", "contains", "unevaluatedProperties", "unevaluatedItems", "disallow", "extends",
}

func (c certainChoices) namedValue(o map[string]any) (any, bool) {
	if v, ok := o["const"]; ok {
		return v, true
	}
	var candidates []any
	if options := c.requiredOptions(o); options != nil {
		return options, true
	}
	standard, ok := o["default"]
	if ok {
		candidates = append(candidates, standard)
	}
	examples, _ := o["examples"].([]any)
	enum, _ := o["enum"].([]any)
	candidates = slices.Concat(candidates, examples, enum, titledOptions(o))
	if c.last {
		slices.Reverse(candidates)
		if o["enum"] == nil && standard == false {
			return nil, false // the default, false, was the first choice; the method boolean returns the other value
		}
	}
	types := typesOf(o)
	for _, v := range candidates {
		if (o["type"] == nil || slices.ContainsFunc(types, func(name string) bool { return isOfType(name, v) })) && (o["enum"] == nil || isOneOf(v, enum)) {
			return v, true
		}
	}
	return nil, false
}

// requiredOptions returns the first options of a field that takes several of them (an array of
// options): as many as the field requires, but at least one. It returns nil for any other field,
// for a field with a default, and if c.agrees is not set.
func (c certainChoices) requiredOptions(o map[string]any) []any {
	items, _ := o["items"].(map[string]any)
	if !c.agrees || o["default"] != nil || items == nil {
		return nil
	}
	options, _ := items["enum"].([]any)
	options = append(slices.Clone(options), titledOptions(items)...)
	least, most := sizeLimits(o, "minItems", "maxItems")
	if n := max(1, least); n <= min(most, len(options)) {
		return options[:n]
	}
	return nil
}

// titledOptions returns the constants of a schema whose alternatives are constants with titles, or
// nil for any other schema.
func titledOptions(o map[string]any) []any {
	alternatives, _ := o["oneOf"].([]any)
	if alternatives == nil {
		alternatives, _ = o["anyOf"].([]any)
	}
	var out []any
	for _, sub := range alternatives {
		one, _ := sub.(map[string]any)
		v, ok := one["const"]
		if !ok || !hasOnlyAnnotations(withoutKeyword(one, "const")) || isOneOf(v, out) {
			return nil
		}
		out = append(out, v)
	}
	return out
}

// check returns an error if a value that is generated from the schema might be invalid. The error
// describes what makes that uncertain.
func (c certainChoices) check(form string, o map[string]any) error {
	hasOthers := !hasOnlyAnnotations(withoutKeyword(o, form))
	if form == "$ref" && hasOthers {
		return errors.New("a reference is next to other keywords")
	}
	for _, keyword := range unsupportedKeywords {
		if hasKeyword(o, keyword) {
			return fmt.Errorf("the keyword %s is not understood", keyword)
		}
	}
	switch form {
	case "anyOf", "oneOf":
		if hasOthers {
			return fmt.Errorf("%s is next to other keywords", form)
		}
		if all, _ := o[form].([]any); form == "oneOf" && !areDistinct(all) {
			return errors.New("the alternatives of oneOf can't be told apart")
		}
	case "object":
		required := len(stringsIn(o["required"]))
		if least, _ := sizeOf(o["minProperties"]); least > required {
			return errors.New("an object has to have more members than are named")
		}
		if hasKeyword(o, "patternProperties") && required > 0 {
			return errors.New("the keyword patternProperties is not understood")
		}
	case "array":
		least, _ := sizeOf(o["minItems"])
		if least > maxElements {
			return errors.New("an array has to have very many elements")
		}
		if o["uniqueItems"] == true && least > 1 {
			return errors.New("the elements of an array have to differ")
		}
	case "integer", "number":
		for _, keyword := range bounds {
			if _, ok := numberOf(o[keyword]); !ok && hasKeyword(o, keyword) {
				return errors.New("a bound is not a number") // in draft 4 some limits are booleans
			}
		}
		if step, ok := numberOf(o["multipleOf"]); hasKeyword(o, "multipleOf") && (!ok || step <= 0) {
			return errors.New("the step is not a number above zero")
		}
	}
	return nil
}

// areDistinct reports whether it is certain that no value matches two of the alternatives, because
// their types or constants differ.
func areDistinct(alternatives []any) bool {
	seen := map[string]bool{}
	for _, sub := range alternatives {
		o, _ := sub.(map[string]any)
		kind := ""
		if name, ok := o["type"]; ok {
			kind = string(wire.JSON(name))
		}
		if v, ok := o["const"]; ok {
			kind = "const " + string(wire.JSON(v))
		}
		if kind == "" || seen[kind] {
			return false
		}
		seen[kind] = true
	}
	return !seen[`"integer"`] || !seen[`"number"`]
}

func (c certainChoices) alternatives(all []any) []any {
	if c.last {
		all = slices.Clone(all)
		slices.Reverse(all)
	}
	return all
}

func (c certainChoices) typeName(names []string) string { return names[0] }

func (c certainChoices) includesOptional(o map[string]any, depth int) bool {
	return c.every && depth <= optionalDepth && !hasKeyword(o, "patternProperties")
}

func (c certainChoices) elements(o map[string]any, least, most int) (count, needed int) {
	_, described := o["items"].(map[string]any)
	if (c.last || c.agrees) && most > 0 && (described || hasKeyword(o, "prefixItems")) {
		least = max(1, least)
	}
	return least, least
}

func (c certainChoices) text(o map[string]any, least, most int) (string, error) {
	if format, ok := o["format"].(string); ok {
		if len(formats[format]) == 0 {
			return "", errors.New("the format of a string is not known")
		}
		return formats[format][0], nil
	}
	s := c.word()
	s = s[:min(len(s), most)]
	return s + strings.Repeat("x", max(0, min(least, maxText)-len(s))), nil
}

func (c certainChoices) number(o map[string]any, _ bool) (json.Number, error) {
	for _, x := range numbersWithin(o, true) {
		return numberWithoutExponent(x), nil
	}
	return "", errors.New("no number was found between the bounds")
}

func (c certainChoices) boolean() bool { return c.last || c.agrees }

func (c certainChoices) word() string { return "text" }
