package headers

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestEncodedValuesAreDecoded checks that every text survives Encode and Decode, and that
// what Encode returns has only characters that a header may have.
func TestEncodedValuesAreDecoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", " a", "a\n", "=?base64?YQ==?=", "=?base64?=", "grüß"})).Draw(t, "text")
		encoded := Encode(text)
		if got, ok := Decode(encoded); !ok || got != text {
			t.Fatalf("%q is encoded as %q, and decoded as %q, %v", text, encoded, got, ok)
		}
		if !isPlain(encoded) {
			t.Fatalf("%q is encoded as %q", text, encoded)
		}
	})
}

func TestDecode(t *testing.T) {
	for value, want := range map[string]struct {
		text string
		ok   bool
	}{
		"plain":                 {"plain", true},
		"=?base64?Z3LDvMOf?=":   {"grüß", true},
		"=?base64?%%%?=":        {"", false},
		"=?base64?/w==?=":       {"\xff", false}, // not UTF-8
		"=?BASE64?Z3LDvMOf?=":   {"=?BASE64?Z3LDvMOf?=", true},
		"grüß":                  {"grüß", false},
		"with\ttab and a space": {"with\ttab and a space", true},
	} {
		if text, ok := Decode(value); text != want.text || ok != want.ok {
			t.Errorf("%q is decoded as %q, %v; want %q, %v", value, text, ok, want.text, want.ok)
		}
	}
}

func TestNameOf(t *testing.T) {
	for params, want := range map[string]string{
		`"method":"tools/call","params":{"name":"a"}`:        "a",
		`"method":"prompts/get","params":{"name":"b"}`:       "b",
		`"method":"resources/read","params":{"uri":"c:d"}`:   "c:d",
		`"method":"resources/read","params":{"name":"e"}`:    "",
		`"method":"tools/call","params":{"name":5}`:          "",
		`"method":"completion/complete","params":{"name":1}`: "",
	} {
		m := &wire.Parse([]byte(`{"jsonrpc":"2.0","id":1,` + params + `}`)).Messages[0]
		if got, ok := NameOf(m); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v; want %q", params, got, ok, want)
		}
	}
}

// TestMirroredArguments checks which arguments of a tool headers mirror, and with which text.
func TestMirroredArguments(t *testing.T) {
	tools := Tools{}
	tools.AddList(jsontext.Value(`{"tools":[{"name":"query","inputSchema":{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"},"sql":{"type":"string"},
		"deep":{"type":"object","properties":{"limit":{"type":"integer","x-mcp-header":"Limit"}}},
		"list":{"type":"array","items":{"type":"object","properties":{"no":{"type":"string","x-mcp-header":"No"}}}},
		"dry":{"type":"boolean","x-mcp-header":"Dry"}}}},{"name":"plain","inputSchema":{"type":"object"}}]}`))
	if all, known := tools["plain"]; !known || len(all) > 0 {
		t.Errorf("plain: %v, %v", all, known)
	}
	for arguments, want := range map[string]map[string]string{
		`{"region":"eu","sql":"select","deep":{"limit":42},"dry":true}`: {"Region": "eu", "Limit": "42", "Dry": "true"},
		`{"region":null,"deep":5,"dry":{}}`:                             {},
		`{"region":"","list":[{"no":"x"}]}`:                             {"Region": ""},
		``:                                                              {},
	} {
		got := map[string]string{}
		for _, a := range tools["query"] {
			if text, ok := a.HeaderText(jsontext.Value(arguments)); ok {
				got[a.Name] = text
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", arguments, diff)
		}
	}
}
