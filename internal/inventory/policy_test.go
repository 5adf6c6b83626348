package inventory

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestPolicy(t *testing.T) {
	reads, writes := Tool{Name: "reads", ReadOnly: true}, Tool{Name: "writes"}
	text, image, fails := Tool{Name: "test_simple_text"}, Tool{Name: "test_image_content"}, Tool{Name: "test_error_handling"}
	for _, c := range []struct {
		name   string
		config Config
		tools  []Tool
		want   []string
	}{
		{"nothing is said", Config{}, []Tool{reads}, nil},
		{"safe", Config{Policy: CallSafe}, []Tool{reads, writes}, []string{"reads"}},
		{"all", Config{Policy: CallAll}, []Tool{reads, writes}, []string{"reads", "writes"}},
		{"none", Config{Policy: CallNone}, []Tool{reads, writes}, nil},
		{"one by its name", Config{Policy: CallNone, Call: []string{"writes"}}, []Tool{reads, writes}, []string{"writes"}},
		{"one never", Config{Policy: CallAll, Never: []string{"reads"}}, []Tool{reads, writes}, []string{"writes"}},
		{"never outweighs", Config{Call: []string{"reads"}, Never: []string{"reads"}}, []Tool{reads}, nil},
		{"two of the official suite", Config{Policy: CallSafe}, []Tool{text, image, writes}, nil},
		{
			"made for the official suite", Config{Policy: CallSafe, Never: []string{"test_error_handling"}},
			[]Tool{text, image, fails, writes}, []string{"test_simple_text", "test_image_content"},
		},
		{"made for it, and nothing may be called", Config{Policy: CallNone}, []Tool{text, image, fails}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := &Inventory{Tools: c.tools, config: c.config}
			if diff := cmp.Diff(c.want, names(v.Callable())); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			for _, tool := range c.tools {
				if _, ok := v.Tool(tool.Name); ok != cmp.Equal([]string{tool.Name}, names((&Inventory{Tools: v.Callable()}).named(tool.Name))) {
					t.Errorf("%s by itself: %v", tool.Name, ok)
				}
			}
		})
	}
}

func TestBarredTools(t *testing.T) {
	slow, reads := Tool{Name: "slow"}, Tool{Name: "slow", ReadOnly: true}
	for _, c := range []struct {
		name   string
		config Config
		tool   Tool
		want   []string
	}{
		{"it does not say that it only reads", Config{Policy: CallSafe}, slow, []string{"slow"}},
		{"no tool may be called", Config{Policy: CallNone}, reads, []string{"slow"}},
		{"it may be called", Config{Policy: CallSafe}, reads, nil},
		{"all may be called", Config{Policy: CallAll}, slow, nil},
		{"the user wants it never called", Config{Policy: CallSafe, Never: []string{"slow"}}, slow, nil},
		{"it is another tool", Config{Policy: CallSafe}, Tool{Name: "slow", Raw: jsontext.Value(`{"inputSchema":{"properties":{}}}`)}, nil},
		{"it is not known", Config{Policy: CallSafe}, Tool{Name: "my-slow"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := &Inventory{Tools: []Tool{c.tool}, config: c.config}
			if diff := cmp.Diff(c.want, v.BarredTools(Slow)); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
		})
	}
}

// named returns the tools of that name.
func (v *Inventory) named(name string) []Tool {
	var out []Tool
	for _, t := range v.Tools {
		if t.Name == name {
			out = append(out, t)
		}
	}
	return out
}

func TestGoodArguments(t *testing.T) {
	config := Config{
		Policy:    CallSafe,
		Arguments: map[string][]map[string]any{"t": {{"a": 1}, {"a": 2}}, "empty": {}},
		Prompts:   map[string]map[string]any{"p": {"x": "good"}},
	}
	v, _ := takeInventory(t, config, `{"tools":{},"prompts":{}}`, func(method, _ string) string {
		return map[string]string{
			"tools/list": `{"tools":[{"name":"t"},{"name":"json_schema_2020_12_tool","inputSchema":{"type":"object","allOf":[],"properties":{"name":{},"contactMethod":{},"email":{}}}},` +
				`{"name":"json_schema_2020_12_tool","inputSchema":{"type":"object","properties":{"name":{}}}}]}`,
			"prompts/list": `{"prompts":[{"name":"p","arguments":[{"name":"x","required":true},{"name":"y","required":true},{"name":"z"}]},` +
				`{"name":"test_prompt_with_embedded_resource","arguments":[{"name":"resourceUri","required":true}]}]}`,
		}[method]
	})
	var got []map[string]any
	for _, tool := range v.Tools {
		a, err := tool.Arguments()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, a)
	}
	for _, p := range v.PromptEntries {
		got = append(got, p.Values(false))
	}
	want := []map[string]any{
		{"a": 1}, {"name": "Ada", "contactMethod": "email", "email": "ada@example.com"}, {},
		{"x": "good", "y": "text"}, {"resourceUri": "test://static-text"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}
