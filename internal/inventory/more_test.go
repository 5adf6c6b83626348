package inventory

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestMoreArguments(t *testing.T) {
	for _, c := range []struct {
		name, schema string
		want         []map[string]any
	}{
		{"no schema", `null`, nil},
		{"all are required", `{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}`, nil},
		{"a required one may be another", `{"type":"object","required":["a"],"properties":{"a":{"type":"boolean"}}}`, []map[string]any{{"a": true}}},
		{
			"the schema names several", `{"type":"object","properties":{"a":{"enum":["x","y"]},"b":{"type":"array","items":{"type":"string"}},"c":{"anyOf":[{"type":"null"},{"type":"boolean","default":false}]}}}`,
			[]map[string]any{
				{"a": "x", "b": []any{}, "c": nil},
				{"a": "y", "b": []any{"text"}, "c": true},
			},
		},
		{"a default stays", `{"type":"object","properties":{"a":{"type":"boolean","default":true}}}`, []map[string]any{{"a": true}}},
		{
			"some are not", `{"type":"object","required":["a"],"properties":{"a":{"type":"boolean"},"b":{"type":"object","properties":{"c":{"type":"boolean"}}},"d":{"pattern":"x"}}}`,
			[]map[string]any{{"a": false, "b": map[string]any{"c": false}}, {"a": true, "b": map[string]any{"c": true}}},
		},
		{
			"there may be no more", `{"type":"object","maxProperties":1,"properties":{"a":{"type":"boolean"},"b":{"type":"boolean"}}}`,
			[]map[string]any{{"a": false}, {"a": true}},
		},
		{"patterns have a say", `{"type":"object","patternProperties":{"^a":{"type":"string"}},"properties":{"a":{"type":"boolean"}}}`, nil},
		{"nothing can be made", `{"type":"object","not":{}}`, nil},
		{"without end", `{"type":"object","properties":{"a":{"$ref":"#"}}}`, []map[string]any{{"a": deep(1)}}}, // a reference counts as a step, too
	} {
		got := Tool{Name: "t", Raw: jsontext.Value(`{"inputSchema":` + c.schema + `}`)}.MoreArguments()
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	given := Tool{given: []map[string]any{{"a": 1}, {"a": 2}, {}}}
	if diff := cmp.Diff([]map[string]any{{"a": 2}, {}}, given.MoreArguments()); diff != "" {
		t.Errorf("of those that are known to be good (-want +got):\n%s", diff)
	}
}

// deep returns n nested objects.
func deep(n int) map[string]any {
	if n == 0 {
		return map[string]any{}
	}
	return map[string]any{"a": deep(n - 1)}
}
