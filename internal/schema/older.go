package schema

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// InDraft07 says what Structured would say if the schema, which must name no
// dialect of its own, were of draft-07; false where it names one.
func (v *Validator) InDraft07(schema, value jsontext.Value) ([]Violation, bool) {
	schema = trimmed(schema)
	if kindOf(schema) != '{' || valueOf(schema, "$schema") != nil {
		return nil, false
	}
	older := []byte(`{"$schema":"http://json-schema.org/draft-07/schema#"`)
	rest := bytes.TrimLeft(schema[1:], " \t\r\n")
	if !bytes.HasPrefix(rest, []byte("}")) {
		older = append(older, ',')
	}
	return v.Structured(append(older, rest...), value), true
}

// BreaksModern reports whether a value does not fit a schema of 2020-12 that
// names no dialect, for nothing but keywords that older dialects do not have.
// What is merely too much of an object is left out: it does no harm.
func (v *Validator) BreaksModern(schema, value jsontext.Value) bool {
	if !v.revision.AtLeast(spec.V20251125) || valueOf(trimmed(schema), "$schema") != nil || len(v.Structured(schema, value)) == 0 {
		return false
	}
	root, ok := decoded(schema)
	if !ok || !strip(root) {
		return false
	}
	older, err := json.Marshal(root)
	return err == nil && len(v.Structured(older, value)) == 0
}

// modern are the keywords that older dialects do not have. What items means
// depends on prefixItems, so that both go.
var modern = []string{"prefixItems", "dependentRequired", "dependentSchemas", "minContains", "maxContains"}

// strip takes the modern keywords out of a schema and reports whether there were
// any.
func strip(schema any) bool {
	s := membersOf(schema)
	found := false
	if s["prefixItems"] != nil {
		delete(s, "items")
	}
	for _, keyword := range modern {
		if _, ok := s[keyword]; ok {
			delete(s, keyword)
			found = true
		}
	}
	for keyword, sub := range s {
		switch keyword {
		case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames":
			found = strip(sub) || found
		case "allOf", "anyOf", "oneOf":
			for _, one := range elementsOf(sub) {
				found = strip(one) || found
			}
		case "properties", "patternProperties", "$defs", "definitions":
			for _, one := range membersOf(sub) {
				found = strip(one) || found
			}
		}
	}
	return found
}
