package inventory_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		name, property string // the schema of the one required property
		want           string // its value; empty if none can be made
	}{
		{"a text", `{"type":"string"}`, `"text"`},
		{"a short text", `{"type":"string","maxLength":2}`, `"te"`},
		{"a long text", `{"type":"string","minLength":6}`, `"textxx"`},
		{"a very long text", `{"type":"string","minLength":100000}`, ""},
		{"no text", `{"type":"string","maxLength":0}`, `""`},
		{"a text between bounds that cross", `{"type":"string","minLength":3,"maxLength":2}`, ""},
		{"a pattern", `{"type":"string","pattern":"^[0-9]+$"}`, ""},
		{"a pattern with an example", `{"type":"string","pattern":"^[0-9]+$","examples":["12"]}`, `"12"`},
		{"a date", `{"type":"string","format":"date"}`, `"2025-01-01"`},
		{"a date that is too short", `{"type":"string","format":"date","maxLength":5}`, ""},
		{"a format of its own", `{"type":"string","format":"x-colour"}`, ""},
		{"a constant", `{"const":{"a":[1]}}`, `{"a":[1]}`},
		{"a default", `{"type":"integer","default":7}`, `7`},
		{"a default of the wrong type", `{"type":"integer","default":null}`, `1`},
		{"a default beside the enum", `{"type":"string","enum":["b","c"],"default":"a"}`, `"b"`},
		{"an enum", `{"enum":["b","a"]}`, `"b"`},
		{"examples", `{"type":"string","examples":["x","y"]}`, `"x"`},
		{"a number", `{"type":"number"}`, `1`},
		{"a number at least", `{"type":"integer","minimum":10}`, `10`},
		{"a number above", `{"type":"integer","exclusiveMinimum":10}`, `11`},
		{"a number below", `{"type":"integer","exclusiveMaximum":-3}`, `-4`},
		{"a number in steps", `{"type":"integer","minimum":10,"multipleOf":4}`, `12`},
		{"a number in steps below zero", `{"type":"integer","maximum":-7,"multipleOf":10}`, `-10`},
		{"a number between bounds that cross", `{"type":"integer","minimum":3,"maximum":2}`, ""},
		{"a number with the bound of draft 4", `{"type":"integer","minimum":3,"exclusiveMinimum":true}`, ""},
		{"a huge number", `{"type":"integer","minimum":1e300}`, ""},
		{"a boolean", `{"type":"boolean"}`, `false`},
		{"null", `{"type":"null"}`, `null`},
		{"several types", `{"type":["integer","null"]}`, `1`},
		{"an unknown type", `{"type":"text"}`, ""},
		{"a type that is a number", `{"type":5}`, ""},
		{"anything", `{}`, `"text"`},
		{"anything at all", `true`, `"text"`},
		{"nothing", `false`, ""},
		{"an array", `{"type":"array","items":{"type":"string"}}`, `[]`},
		{"an array of two", `{"type":"array","items":{"type":"integer"},"minItems":2}`, `[1,1]`},
		{"a pair", `{"type":"array","prefixItems":[{"type":"number"},{"type":"string"}],"items":false,"minItems":2}`, `[1,"text"]`},
		{"a pair as older drafts write it", `{"type":"array","items":[{"type":"number"},{"type":"string"}],"minItems":2}`, `[1,"text"]`},
		{"an array with limits that contradict each other", `{"type":"array","minItems":2,"maxItems":1}`, ""},
		{"an array of different ones", `{"type":"array","uniqueItems":true,"minItems":2}`, ""},
		{"a very long array", `{"type":"array","minItems":1000}`, ""},
		{"an array that contains", `{"type":"array","contains":{"const":1}}`, ""},
		{"an object", `{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"integer"}},"required":["y"]}`, `{"y":1}`},
		{"an object without a type", `{"properties":{"x":{"type":"integer"}},"required":["x"]}`, `{"x":1}`},
		{"an object that requires what it does not describe", `{"type":"object","required":["z"]}`, `{"z":"text"}`},
		{"an object that requires what it forbids", `{"type":"object","required":["z"],"additionalProperties":false}`, ""},
		{"an object of many", `{"type":"object","minProperties":1}`, ""},
		{"alternatives", `{"anyOf":[{"type":"string","pattern":"x"},{"type":"integer"}],"description":"either"}`, `1`},
		{"alternatives beside a type", `{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`, ""},
		{"alternatives of different types", `{"oneOf":[{"type":"string"},{"type":"integer"}]}`, `"text"`},
		{"alternatives that may both fit", `{"oneOf":[{"type":"string"},{"type":"string","maxLength":9}]}`, ""},
		{"a reference", `{"$ref":"#/$defs/name"}`, `"Ada"`},
		{"a reference elsewhere", `{"$ref":"https://example.com/schema"}`, ""},
		{"a reference to itself", `{"$ref":"#/properties/p"}`, ""},
		{"what is not", `{"not":{"type":"string"}}`, ""},
		{"conditions", `{"type":"string","if":{"minLength":1},"then":{"maxLength":2}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			input := `{"type":"object","properties":{"p":` + c.property + `,"q":{"type":"string"}},"required":["p"],"$defs":{"name":{"type":"string","default":"Ada"}}}`
			got, err := generate.Arguments(jsontext.Value(input))
			if c.want == "" {
				if err == nil {
					t.Fatalf("made %s", wire.JSON(got))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(`{"p":`+c.want+`}`, string(wire.JSON(got))); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}

func TestArgumentsOfOddSchemas(t *testing.T) {
	for input, want := range map[string]string{
		`{"type":"object"}`:                                    `{}`,
		`{"type":"object","default":{"a":1}}`:                  `{"a":1}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`: `{}`,
		`{}`:                               "",
		`[]`:                               "",
		`null`:                             "",
		``:                                 "",
		`{"type":"array"}`:                 "",
		`{"type":"object","required":"a"}`: `{}`,
		`{"type":"object","required":["a"],"properties":{"a":` + strings.Repeat(`{"type":"object","required":["a"],"properties":{"a":`, 40) + `{}` + strings.Repeat(`}}`, 40) + `}}`: "",
	} {
		got, err := generate.Arguments(jsontext.Value(input))
		if (err == nil) != (want != "") || err == nil && string(wire.JSON(got)) != want {
			t.Errorf("of %.80s: %s, %v; want %s", input, wire.JSON(got), err, want)
		}
	}
}

// schemas returns a generator of schemas of values, with keywords that are
// understood and some that are not.
func schemas(depth int) *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		kinds := []string{"string", "integer", "number", "boolean", "null"}
		if depth > 0 {
			kinds = append(kinds, "array", "object", "anyOf", "oneOf")
		}
		kind := rapid.SampledFrom(kinds).Draw(t, "kind")
		s := map[string]any{"type": kind}
		maybe := func(name string, v *rapid.Generator[any]) {
			if rapid.IntRange(0, 3).Draw(t, "has "+name) == 0 {
				s[name] = v.Draw(t, name)
			}
		}
		switch kind {
		case "string":
			maybe("minLength", rapid.IntRange(0, 12).AsAny())
			maybe("maxLength", rapid.IntRange(0, 12).AsAny())
			maybe("format", rapid.SampledFrom([]string{"date", "uri", "email", "ipv6", "other"}).AsAny())
			maybe("pattern", rapid.Just("^a+$").AsAny())
			if rapid.IntRange(0, 4).Draw(t, "has enum") == 0 { // values that the schema lists are used unchecked
				s = map[string]any{"type": kind, "enum": []any{"one", "two"}}
			}
		case "integer", "number":
			for _, name := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
				maybe(name, rapid.Float64Range(-20, 20).AsAny())
			}
			maybe("multipleOf", rapid.SampledFrom([]float64{1, 2, 3, 0.5}).AsAny())
		case "array":
			s["items"] = schemas(depth-1).Draw(t, "items")
			maybe("minItems", rapid.IntRange(0, 4).AsAny())
			maybe("uniqueItems", rapid.Bool().AsAny())
			maybe("prefixItems", rapid.SliceOfN(schemas(depth-1), 1, 2).AsAny())
		case "object":
			for name, v := range properties(t, depth-1) {
				s[name] = v
			}
			maybe("minProperties", rapid.IntRange(0, 3).AsAny())
		case "anyOf", "oneOf":
			s = map[string]any{kind: rapid.SliceOfN(schemas(depth-1), 1, 3).Draw(t, kind)}
		}
		return s
	})
}

func properties(t *rapid.T, depth int) map[string]any {
	members, required := map[string]any{}, []string{}
	for _, name := range []string{"a", "b", "c"} {
		if rapid.Bool().Draw(t, "has "+name) {
			members[name] = schemas(depth).Draw(t, name)
		}
		if rapid.Bool().Draw(t, "requires "+name) {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": members, "required": required, "additionalProperties": rapid.Bool().Draw(t, "more")}
}

// TestArgumentsFit checks that generated arguments match the schema, and that
// wrong arguments do not.
func TestArgumentsFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := jsontext.Value(wire.JSON(properties(t, 2)))
		tool := inventory.Tool{Name: "t", Raw: wire.JSON(map[string]any{"inputSchema": input})}
		got, err := tool.Arguments()
		if err != nil {
			return
		}
		v := schema.For(spec.V20251125)
		if wrong := v.CheckStructuredContent(input, wire.JSON(got)); len(wrong) > 0 {
			t.Fatalf("%s does not fit %s: %v", wire.JSON(got), input, wrong)
		}
		for _, more := range tool.MoreArguments() {
			if wrong := v.CheckStructuredContent(input, wire.JSON(more)); len(wrong) > 0 {
				t.Fatalf("%s does not fit %s: %v", wire.JSON(more), input, wrong)
			}
		}
		for _, w := range tool.WrongArguments() {
			if len(v.CheckStructuredContent(input, wire.JSON(w.Arguments))) == 0 {
				t.Fatalf("%s: %s fits %s", w.What, wire.JSON(w.Arguments), input)
			}
		}
	})
}

func TestWrongArguments(t *testing.T) {
	const input = `{"type":"object","properties":{"to":{"type":"string","enum":["left"]},"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`
	got := map[string]string{}
	for _, w := range (inventory.Tool{Raw: jsontext.Value(`{"inputSchema":` + input + `}`)}).WrongArguments() {
		got[w.What] = string(wire.JSON(w.Arguments))
	}
	want := map[string]string{
		"a required argument is left out":               `{}`,
		"an argument is given that there is not":        `{"mcp-conform-extra":true,"n":1}`,
		"an argument is of another type":                `{"n":{"mcp-conform":"neither"}}`,
		"an integer has a fraction":                     `{"n":1.5}`,
		"an argument is none of the values of its enum": `{"n":1,"to":"mcp-conform-none-of-these"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wrong arguments (-want +got):\n%s", diff)
	}
	const nested = `{"type":"object","properties":{
		"options":{"type":"object","properties":{"deep":{"type":"object","properties":{"flag":{"type":"boolean"}}},"id":{"type":"string"}},"required":["id"]},
		"rows":{"type":"array","items":{"type":"integer"}}}}`
	got = map[string]string{}
	for _, w := range (inventory.Tool{Raw: jsontext.Value(`{"inputSchema":` + nested + `}`)}).WrongArguments() {
		got[w.What] = string(wire.JSON(w.Arguments))
	}
	want = map[string]string{
		"an argument is of another type":                      `{"options":5}`,
		"inside an argument, a required argument is left out": `{"options":{}}`,
		"inside an array, an argument is of another type":     `{"rows":[{"mcp-conform":"neither"}]}`,
		"inside an array, an integer has a fraction":          `{"rows":[1.5]}`,
		"inside an argument, an argument is of another type":  `{"options":{"id":{"mcp-conform":[]}}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wrong arguments of a nested schema (-want +got):\n%s", diff)
	}
	if w := (inventory.Tool{Raw: jsontext.Value(`{"inputSchema":{"not":{}}}`)}).WrongArguments(); w != nil {
		t.Errorf("of a schema that is not understood: %v", w)
	}
}

func TestPromptValues(t *testing.T) {
	p := inventory.Prompt{Name: "p", Arguments: []inventory.PromptArgument{{Name: "a", Required: true}, {Name: "b"}}}
	if diff := cmp.Diff([]any{map[string]any{"a": "text"}, map[string]any{"a": "text", "b": "text"}, []string{"a"}}, []any{p.Values(false), p.Values(true), p.RequiredArguments()}); diff != "" {
		t.Errorf("values of arguments (-want +got):\n%s", diff)
	}
}
