package config

import (
	"bytes"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// TestSchemaAgreesWithReader checks that the schema and the reader accept the same files, as far as
// a schema can express what the reader checks.
func TestSchemaAgreesWithReader(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(SchemaFile, document); err != nil {
		t.Fatal(err)
	}
	schema := compiler.MustCompile(SchemaFile)
	for _, c := range []struct {
		text string
		fine bool
	}{
		{strings.ReplaceAll(whole, "2024-01-02", "'2024-01-02'"), true},
		{"implementation: {organization: A, contact: [b, c]}", true},
		{"implementation: {organisation: A}", false},
		{"implementation: {contact: {a: b}}", false},
		{"jobs: 2", true},
		{"jobs: 0", false},
		{"jobs: '2'", false},
		{"timeout: 1m30s", true},
		{"timeout: 1.5h", true},
		{"timeout: 10", false},
		{"timeout: soon", false},
		{"fail-on: must", true},
		{"fail-on: may", false},
		{"target: {clean-env: true}", true},
		{"target: {clean-env: 'true'}", false},
		{"target: {env: {A: [b]}}", false},
		{"target: {env: {A: , B: 1, C: true}}", true},
		{"target: {url: ' '}", false},
		{"tools: {call: all, never: [a]}", true},
		{"tools: {call: 5}", false},
		{"tools: {cal: all}", false},
		{"tools: {arguments: {a: [{}, {b: {c: [1]}}], d: {}}}", true},
		{"tools: {arguments: {a: [[]]}}", false},
		{"templates: {a: {b: 1}}", true},
		{"templates: {a: b}", false},
		{"fixtures: {slow: {tool: a, arguments: {b: c}}}", true},
		{"fixtures: {slow: {}}", false},
		{"fixtures: {changes-resource: {tool: a}}", false},
		{"fixtures: {logging: [{tool: a, levels: info}]}", true},
		{"fixtures: {logging: [{tool: a, levels: loud}]}", false},
		{"fixtures: {loging: {tool: a}}", false},
	} {
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(c.text), &n); err != nil {
			t.Fatal(err)
		}
		var value any
		if err := n.Decode(&value); err != nil {
			t.Fatal(err)
		}
		if m, ok := value.(map[string]any); ok && m["revisions"] != nil {
			m["revisions"] = []any{"2025-06-18"} // editors parse YAML without dates
		}
		if err := schema.Validate(value); (err == nil) != c.fine {
			t.Errorf("%s\nthe schema says %v", c.text, err)
		}
		if _, err := Parse("f.yaml", []byte(c.text)); (err == nil) != c.fine {
			t.Errorf("%s\nthe reader says %v", c.text, err)
		}
	}
}

// TestPageHasEveryKey checks that the page has every key.
func TestPageHasEveryKey(t *testing.T) {
	page := Page()
	var look func(k *Key, path string)
	look = func(k *Key, path string) {
		for i := range k.Keys {
			here := joinPath(path, k.Keys[i].Name)
			if !strings.Contains(page, "### `"+here+"`\n") {
				t.Errorf("the page does not have %s", here)
			}
			look(&k.Keys[i], here)
		}
	}
	top := Keys()
	look(&top, "")
}
