package generate_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestForm checks which value a field gets, and that a form is refused only if a required field gets none.
func TestForm(t *testing.T) {
	for _, c := range []struct{ name, field, want string }{
		{"text", `{"type":"string"}`, `"text"`},
		{"long text", `{"type":"string","minLength":14}`, `"textxxxxxxxxxx"`},
		{"short text", `{"type":"string","maxLength":3}`, `"tex"`},
		{"no text", `{"type":"string","maxLength":0}`, `""`},
		{"contradiction", `{"type":"string","minLength":3,"maxLength":2}`, ``},
		{"far too long", `{"type":"string","minLength":100000000}`, ``},
		{"pattern", `{"type":"string","pattern":"^a$"}`, ``},
		{"email", `{"type":"string","format":"email"}`, `"user@example.com"`},
		{"email that is too long", `{"type":"string","format":"email","maxLength":5}`, ``},
		{"uri", `{"type":"string","format":"uri"}`, `"https://example.com/"`},
		{"date", `{"type":"string","format":"date"}`, `"2025-01-01"`},
		{"time", `{"type":"string","format":"date-time"}`, `"2025-01-01T00:00:00Z"`},
		{"unknown format", `{"type":"string","format":"iban"}`, ``},
		{"default", `{"type":"string","format":"iban","default":"x"}`, `"x"`},
		{"enum", `{"type":"string","enum":["red","green"]}`, `"red"`},
		{"titled", `{"type":"string","oneOf":[{"const":"r","title":"Red"}]}`, `"r"`},
		{"boolean", `{"type":"boolean"}`, `true`},
		{"integer", `{"type":"integer"}`, `1`},
		{"from", `{"type":"integer","minimum":18,"maximum":99}`, `18`},
		{"to", `{"type":"number","maximum":0}`, `0`},
		{"fraction", `{"type":"integer","minimum":0.5}`, `1`},
		{"some", `{"type":"array","items":{"type":"string","enum":["a","b"]}}`, `["a"]`},
		{"both", `{"type":"array","minItems":2,"items":{"anyOf":[{"const":"a"},{"const":"b"}]}}`, `["a","b"]`},
		{"none", `{"type":"array","maxItems":0,"items":{"enum":["a"]}}`, `[]`},
		{"more than there are", `{"type":"array","minItems":2,"items":{"enum":["a"]}}`, `["a","a"]`},
		{"object", `{"type":"object"}`, `{}`},
		{"no schema", `3`, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := `{"it":` + c.want + `}`
			if c.want == "" {
				want = `{}`
			}
			got, err := generate.Form(jsontext.Value(`{"type":"object","properties":{"it":` + c.field + `}}`))
			if diff := cmp.Diff(want, string(wire.JSON(got))); diff != "" || err != nil {
				t.Errorf("free to answer: %v (-want +got):\n%s", err, diff)
			}
			got, err = generate.Form(jsontext.Value(`{"type":"object","required":["it"],"properties":{"it":` + c.field + `}}`))
			if ok := err == nil; ok != (c.want != "") || ok != (got != nil) {
				t.Errorf("required: %v, %v", got, err)
			}
		})
	}
	for schema, want := range map[string]string{ // "" if the form is refused
		``: "", `null`: "", `[]`: "", `{}`: "", `{"properties":[]}`: `{}`, `{"type":"object"}`: `{}`, `{"type":"object","properties":{}}`: `{}`,
		`{"type":"object","required":["it"]}`: `{"it":"text"}`, // anything fits
	} {
		got, err := generate.Form(jsontext.Value(schema))
		if (err == nil) != (want != "") || err == nil && string(wire.JSON(got)) != want {
			t.Errorf("%s: %s, %v, want %q", schema, wire.JSON(got), err, want)
		}
	}
}
