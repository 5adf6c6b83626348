package schema

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/uri"
)

// maxNesting is the maximum depth of schemas and values that are passed to the
// library, which is recursive.
const maxNesting = 200

// maxEffort is the maximum number of times that subschemas are applied to values.
const maxEffort = 100_000

// isBounded reports whether a value at the given depth is not nested too deeply, and its numbers
// are short.
func isBounded(v any, depth int) bool {
	switch v := v.(type) {
	case json.Number:
		_, exponent, _ := strings.Cut(strings.ToLower(v.String()), "e")
		return len(v) <= 400 && len(exponent) <= 4
	case []any:
		for _, e := range v {
			if !isBounded(e, depth+1) {
				return false
			}
		}
	case map[string]any:
		for _, e := range v {
			if !isBounded(e, depth+1) {
				return false
			}
		}
	}
	return depth <= maxNesting
}

// isAffordable reports whether judging a value by a schema takes a limited time. Schemas with
// references can require exponential work. The function walks as a validator would, without
// validating, and overestimates the work.
func isAffordable(schema, value any) bool {
	e := effort{root: schema, budget: maxEffort}
	e.apply(schema, value, 0)
	return e.budget > 0
}

// effort is a walk that counts how often subschemas are applied to values.
type effort struct {
	root   any
	budget int
}

// giveUp ends the walk. The schema counts as too expensive.
func (e *effort) giveUp() { e.budget = 0 }

func (e *effort) apply(schema, value any, depth int) {
	s, ok := schema.(map[string]any)
	if e.budget--; !ok || e.budget <= 0 {
		return
	}
	if depth > 2*maxNesting {
		e.giveUp()
		return
	}
	for keyword, sub := range s {
		switch keyword {
		case "$ref":
			target, ok := e.resolve(sub)
			if !ok {
				e.giveUp()
				return
			}
			e.apply(target, value, depth+1)
		case "$dynamicRef", "$recursiveRef":
			e.giveUp()
			return
		case "allOf", "anyOf", "oneOf":
			for _, one := range elementsOf(sub) {
				e.apply(one, value, depth+1)
			}
		case "not", "if", "then", "else":
			e.apply(sub, value, depth+1)
		case "dependentSchemas", "dependencies":
			for _, one := range membersOf(sub) {
				e.apply(one, value, depth+1)
			}
		}
	}
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			e.applyToMember(s, name, member, depth)
		}
	case []any:
		for i, element := range value {
			e.applyToElement(s, i, element, depth)
		}
	}
}

func (e *effort) applyToMember(s map[string]any, name string, member any, depth int) {
	if sub, ok := membersOf(s["properties"])[name]; ok {
		e.apply(sub, member, depth+1)
	}
	for _, sub := range membersOf(s["patternProperties"]) {
		e.apply(sub, member, depth+1)
	}
	for _, keyword := range []string{"additionalProperties", "unevaluatedProperties"} {
		e.apply(s[keyword], member, depth+1)
	}
	e.apply(s["propertyNames"], name, depth+1)
}

func (e *effort) applyToElement(s map[string]any, i int, element any, depth int) {
	for _, keyword := range []string{"items", "prefixItems"} {
		if one := elementsOf(s[keyword]); i < len(one) {
			e.apply(one[i], element, depth+1)
		}
	}
	for _, keyword := range []string{"items", "additionalItems", "unevaluatedItems", "contains"} {
		e.apply(s[keyword], element, depth+1)
	}
}

// resolve returns the value to which a reference such as #/$defs/x leads, and false if the
// reference leads out of the schema or to nothing.
func (e *effort) resolve(ref any) (any, bool) {
	path, ok := ref.(string)
	if !ok || path != "#" && !strings.HasPrefix(path, "#/") {
		return nil, false
	}
	target := e.root
	for _, part := range strings.Split(path, "/")[1:] {
		part = strings.ReplaceAll(strings.ReplaceAll(string(uri.Unescape([]byte(part))), "~1", "/"), "~0", "~")
		switch v := target.(type) {
		case map[string]any:
			target, ok = v[part]
		case []any:
			i, err := strconv.Atoi(part)
			if ok = err == nil && i >= 0 && i < len(v); ok {
				target = v[i]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return target, true
}

func elementsOf(v any) []any {
	list, _ := v.([]any)
	return list
}

func membersOf(v any) map[string]any {
	object, _ := v.(map[string]any)
	return object
}
