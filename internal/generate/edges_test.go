package generate

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func TestEdgeArguments(t *testing.T) {
	for _, c := range []struct {
		name, schema string
		want         string
	}{
		{"no schema", `null`, "null"},
		{"no members", `{"type":"object"}`, "null"},
		{
			"numbers", `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"integer","minimum":0}},"required":["a","b"]}`,
			`[{"a":0,"b":0},{"a":-1,"b":1}]`,
		},
		{
			"nothing in them", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array","items":{"type":"string"}},"c":{"type":"boolean"}},"required":["a","b","c"]}`,
			`[{"a":"","b":[],"c":false}]`,
		},
		{"bounds", `{"type":"object","properties":{"a":{"type":"number","minimum":1},"b":{"type":"string","minLength":1}},"required":["a","b"]}`, "null"},
		{"more than is understood", `{"type":"object","properties":{"a":{"type":"number","exclusiveMinimum":-7},"b":{"type":"string","format":"date"}},"required":["a","b"]}`, "null"},
		{"conditions", `{"type":"object","properties":{"a":{"type":"number"}},"required":["a"],"dependentRequired":{}}`, "null"},
	} {
		got := EdgeArguments(jsontext.Value(c.schema))
		if diff := cmp.Diff(c.want, string(wire.JSON(got))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestArgumentsWithText(t *testing.T) {
	for schema, want := range map[string]map[string]any{
		`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"string","maxLength":5}}}`:               {"b": "text!"},
		`{"type":"object","properties":{"a":{"type":"string","format":"uri"},"c":{"type":"string","enum":["x"]}}}`: nil,
		`{"type":"object","properties":{"a":{"type":"string"}},"not":{}}`:                                          nil,
	} {
		got, ok := ArgumentsWithText(jsontext.Value(schema), "text!")
		if diff := cmp.Diff(want, got); diff != "" || ok != (want != nil) {
			t.Errorf("%s (-want +got):\n%s", schema, diff)
		}
	}
}
