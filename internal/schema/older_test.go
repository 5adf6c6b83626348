package schema

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// TestOlderDialects checks to which dialects a value conforms, for schemas that mean
// different things in them.
func TestOlderDialects(t *testing.T) {
	const point = `{"type":"object","properties":{"at":{"type":"array","prefixItems":[{"type":"number"}],"items":false}}}`
	for _, c := range []struct {
		name, schema, value string
		modern              bool // violates the schema only by new keywords
		draft07             bool // conforms to draft-07
	}{
		{"it fits", point, `{"at":[1]}`, false, false},
		{"of another type", point, `{"at":["1"]}`, true, false},
		{"no list", point, `{"at":1}`, false, false},
		{"an empty one", point, `{"at":[]}`, false, true},
		{"a property of that name", `{"type":"object","properties":{"prefixItems":{"type":"number"}}}`, `{"prefixItems":""}`, false, false},
		{"depending on another", `{"type":"object","dependentRequired":{"a":["b"]}}`, `{"a":1}`, true, true},
		{"too much", `{"type":"object","unevaluatedProperties":false}`, `{"a":1}`, false, true},
		{"no new keyword", `{"type":"object","required":["a"]}`, `{}`, false, false},
		{"an empty schema", `{}`, `{}`, false, true},
	} {
		v := For(spec.V20251125)
		if got := v.BreaksModernKeywords(jsontext.Value(c.schema), jsontext.Value(c.value)); got != c.modern {
			t.Errorf("%s: breaks by new keywords alone: %v, want %v", c.name, got, c.modern)
		}
		if found, ok := v.CheckInDraft07(jsontext.Value(c.schema), jsontext.Value(c.value)); !ok || (len(found) == 0) != c.draft07 {
			t.Errorf("%s: in draft-07: %v %v, want that it fits: %v", c.name, found, ok, c.draft07)
		}
	}
	named := jsontext.Value(`{"$schema":"http://json-schema.org/draft-07/schema#","prefixItems":[{"type":"number"}]}`)
	if _, ok := For(spec.V20251125).CheckInDraft07(named, jsontext.Value(`[""]`)); ok {
		t.Error("a schema that names its dialect is judged by another")
	}
	if For(spec.V20250618).BreaksModernKeywords(jsontext.Value(point), jsontext.Value(`{"at":["1"]}`)) {
		t.Error("2025-06-18 names no dialect")
	}
}
