package generate

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// offerWithSchema returns an offer with one tool that has this schema.
func offerWithSchema(input string) *Offer {
	o := &Offer{Revision: spec.V20251125, Transport: spec.Stdio, Tools: []Tool{{Name: "t", Input: jsontext.Value(input)}}}
	o.Prepare()
	return o
}

// TestProofs checks that only certain facts about arguments are proven.
func TestProofs(t *testing.T) {
	const (
		plain = `{"type":"object","properties":{"n":{"type":"integer","minimum":1},"s":{"type":"string"},"b":{"type":"boolean"},` +
			`"e":{"enum":["up","down"]},"l":{"type":"array","items":{"type":"number"}},"o":{"type":"object"},"d":{"type":"string","default":"x"}},"required":["s"]}`
		strict  = `{"type":"object","properties":{"s":{"type":"string"}},"additionalProperties":false}`
		formats = `{"type":"object","properties":{"s":{"type":"string","format":"email"}}}`
		needy   = `{"type":"object","properties":{"d":{"type":"string","default":"x"}},"required":["d"]}`
		tuple   = `{"type":"object","properties":{"p":{"type":"array","prefixItems":[{"type":"string"}]}}}`
	)
	for _, c := range []struct {
		schema, arguments string
		want              Proof
	}{
		{plain, `{"s":"x"}`, Fits},
		{plain, `{"s":"x","n":1,"b":true,"e":"up","l":[1,2.5],"o":{}}`, Fits},
		{plain, `{"s":"x","unknown":1}`, Unproven},
		{plain, `{"s":"\u0000"}`, Unproven},
		{plain, `{"s":"x","n":1e300}`, Unproven},
		{plain, `{"s":"x","o":` + nest(40) + `}`, Unproven},
		{plain, `{}`, Breaks},
		{plain, ``, Breaks},
		{plain, `{"s":{}}`, Breaks},
		{plain, `{"s":5}`, Unproven},
		{plain, `{"s":"x","n":0}`, Breaks},
		{plain, `{"s":"x","n":"text"}`, Breaks},
		{plain, `{"s":"x","n":"5"}`, Unproven},
		{plain, `{"s":"x","n":1.5}`, Unproven},
		{plain, `{"s":"x","n":null}`, Unproven},
		{plain, `{"s":null}`, Breaks},
		{plain, `{"s":"x","b":"no"}`, Unproven},
		{plain, `{"s":"x","b":[]}`, Breaks},
		{plain, `{"s":"x","e":"UP"}`, Unproven},
		{plain, `{"s":"x","e":"left"}`, Breaks},
		{plain, `{"s":"x","l":["text"]}`, Breaks},
		{plain, `{"s":"x","l":["1"]}`, Unproven},
		{plain, `{"s":"x","o":"{}"}`, Unproven},
		{plain, `{"s":"x","o":7}`, Breaks},
		{plain, `[]`, Unproven},
		{strict, `{"x":1}`, Unproven},
		{strict, `{}`, Fits},
		{formats, `{"s":"x"}`, Unproven},
		{formats, `{"s":[]}`, Breaks},
		{needy, `{}`, Unproven},
		{tuple, `{"p":[{}]}`, Unproven}, // an older dialect does not define this keyword
		{`{"type":"object","properties":{"s":{"pattern":"(?<=x)y"}}}`, `{"s":"x"}`, Unproven},
		{`{"type":"object","$ref":"other.json"}`, `{}`, Unproven},
		{`{}`, `{}`, Unproven},
		{`true`, `{}`, Unproven},
		{`null`, `{}`, Unproven},
	} {
		var arguments jsontext.Value
		if c.arguments != "" {
			arguments = jsontext.Value(c.arguments)
		}
		if got := offerWithSchema(c.schema).CheckArguments("t", arguments); got != c.want {
			t.Errorf("%s for %s: %v, want %v", c.arguments, c.schema, got, c.want)
		}
	}
	if got := offerWithSchema(plain).CheckArguments("another", jsontext.Value(`{}`)); got != Unproven {
		t.Errorf("proof for an unlisted tool: %v", got)
	}
}

func nest(n int) string {
	out := "0"
	for range n {
		out = `{"a":` + out + `}`
	}
	return out
}

// TestProofsAgree checks that arguments drawn as valid are never proven to be
// invalid, and vice versa.
func TestProofsAgree(t *testing.T) {
	o := offerWithSchema(`{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":9},"s":{"type":"string","minLength":1},` +
		`"l":{"type":"array","items":{"type":"boolean"},"minItems":1}},"required":["s","n"],"additionalProperties":false}`)
	s := o.schemas["tool t"]
	rapid.Check(t, func(t *rapid.T) {
		if i := s.Valid().Draw(t, "valid"); i.OK && o.CheckArguments("t", i.Value) == Breaks {
			t.Fatalf("%s conforms to the schema, but CheckArguments returns Breaks", i.Value)
		}
		if i := s.Invalid().Draw(t, "invalid"); i.OK && o.CheckArguments("t", i.Value) == Fits {
			t.Fatalf("%s violates %s, but CheckArguments returns Fits", i.Value, i.Violates)
		}
	})
}
