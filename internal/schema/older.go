package schema

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// CheckInDraft07 returns what CheckStructuredContent would return if the schema's dialect were
// draft-07. It returns false if the schema names its own dialect or is not an object.
func (v *Validator) CheckInDraft07(schema, value jsontext.Value) ([]Violation, bool) {
	schema = trimSpace(schema)
	if kindOf(schema) != '{' || valueOf(schema, "$schema") != nil {
		return nil, false
	}
	older := []byte(`{"$schema":"http://json-schema.org/draft-07/schema#"`)
	rest := bytes.TrimLeft(schema[1:], " \t\r\n")
	if !bytes.HasPrefix(rest, []byte("}")) {
		older = append(older, ',')
	}
	return v.CheckStructuredContent(append(older, rest...), value), true
}

// BreaksModernKeywords reports whether a value violates a schema without $schema only because of
// keywords that 2020-12 has and draft-07 lacks. It ignores keywords that forbid additional members,
// because such members do no harm. It returns false for revisions without a default dialect.
func (v *Validator) BreaksModernKeywords(schema, value jsontext.Value) bool {
	if !v.revision.HasDefaultDialect() || valueOf(trimSpace(schema), "$schema") != nil || len(v.CheckStructuredContent(schema, value)) == 0 {
		return false
	}
	root, ok := decode(schema)
	if !ok || !removeModernKeywords(root) {
		return false
	}
	older, err := json.Marshal(root)
	return err == nil && len(v.CheckStructuredContent(older, value)) == 0
}

// modernKeywords are the keywords that draft-07 lacks, except those that only forbid additional
// members. The meaning of items depends on prefixItems, so removeModernKeywords removes both.
var modernKeywords = []string{"prefixItems", "dependentRequired", "dependentSchemas", "minContains", "maxContains"}

// removeModernKeywords removes the modern keywords from a schema, and reports whether there were
// any.
func removeModernKeywords(schema any) bool {
	s := membersOf(schema)
	found := false
	if s["prefixItems"] != nil {
		delete(s, "items")
	}
	for _, keyword := range modernKeywords {
		if _, ok := s[keyword]; ok {
			delete(s, keyword)
			found = true
		}
	}
	for keyword, sub := range s {
		switch keyword {
		case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames":
			found = removeModernKeywords(sub) || found
		case "allOf", "anyOf", "oneOf":
			for _, one := range elementsOf(sub) {
				found = removeModernKeywords(one) || found
			}
		case "properties", "patternProperties", "$defs", "definitions":
			for _, one := range membersOf(sub) {
				found = removeModernKeywords(one) || found
			}
		}
	}
	return found
}
