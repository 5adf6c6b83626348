package schema

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

func TestDialects(t *testing.T) {
	const (
		old, recent = spec.V20250618, spec.V20251125
		draft4      = `"$schema":"http://json-schema.org/draft-04/schema#",`
		draft6      = `"$schema":"http://json-schema.org/draft-06/schema#",`
		draft7      = `"$schema":"http://json-schema.org/draft-07/schema#",`
		draft2019   = `"$schema":"https://json-schema.org/draft/2019-09/schema",`
		draft2020   = `"$schema":"https://json-schema.org/draft/2020-12/schema",`
		tuple       = `"properties":{"a":{"type":"array","items":[{"type":"string"}]}}`
		exclusive   = `"properties":{"a":{"minimum":1,"exclusiveMinimum":true}}`
	)
	for _, c := range []struct {
		name     string
		revision spec.Revision
		members  string
		valid    bool
	}{
		{"nothing", recent, `"properties":{}`, true},
		{"items of 2020-12", recent, tuple, false},
		{"items of draft-07, undeclared where no dialect is stated", old, tuple, true},
		{"items of draft-07, declared", recent, draft7 + tuple, true},
		{"items of draft-07 by https", recent, strings.Replace(draft7, "http:", "https:", 1) + tuple, true},
		{"items of 2019-09", recent, draft2019 + tuple, true},
		{"items of 2020-12, declared", old, draft2020 + tuple, false},
		{"a bound of draft-04", recent, draft4 + exclusive, true},
		{"a bound of draft-06", recent, draft6 + exclusive, false},
		{"an unknown dialect", recent, `"$schema":"https://example.com/schema",` + tuple, true},
		{"in no dialect", old, `"properties":{"a":{"type":"text"}}`, false},
		{"a pattern that is not ECMA-262 for Go", old, draft7 + `"properties":{"a":{"pattern":"(?<!x)a(?=b)\\cA"}}`, true},
		{"a reference with odd characters", old, draft7 + `"properties":{"a":{"$ref":"#/definitions/List[int]"}}`, true},
		{"required that is not a list", recent, draft2020 + `"properties":{"a":{"required":true}}`, false},
		{"numbers beyond reason", recent, `"properties":{"a":{"minimum":1e999999999}}`, true},
		{"deep nesting", recent, `"not":` + strings.Repeat(`{"not":`, 900) + `1` + strings.Repeat(`}`, 900), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			tools := `{"tools":[{"name":"a","inputSchema":{` + c.members + `,"type":"object"}}]}`
			for range 2 { // the second result comes from the cache
				got := For(c.revision).CheckResult(spec.MethodToolsList, []byte(tools))
				if valid := len(got) == 0; valid != c.valid {
					t.Errorf("%s gives %v", tools, got)
				}
				if !c.valid && len(got) > 0 && (got[0].Kind != NotDialect || got[0].Basis != BeyondSchema) {
					t.Errorf("%s gives %v", tools, got)
				}
			}
		})
	}
}

// TestCheckStructured checks which structuredContent violates an outputSchema, and that schemas
// which can't be evaluated have no violations.
func TestCheckStructured(t *testing.T) {
	v := For(spec.V20251125)
	doubling := `{"$defs":{"a0":{"type":"string"}`
	for i := range 40 {
		doubling += fmt.Sprintf(`,"a%d":{"anyOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i+1, i, i)
	}
	for _, c := range []struct{ name, schema, value, want string }{
		{"it fits", `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`, `{"a":1}`, ""},
		{"a wrong type", `{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":"1"}`, "got string, want integer at /a"},
		{"a member too few", `{"type":"object","required":["a"]}`, ` {} `, "missing property 'a' at the root"},
		{"a reference inside", `{"$defs":{"x y":{"type":"null"}},"additionalProperties":{"$ref":"#/$defs/x%20y"}}`, `{"a":1}`, "got number, want null at /a"},
		{"a recursive one", `{"type":"object","properties":{"next":{"$ref":"#"}}}`, `{"next":{"next":1}}`, "got number, want object at /next/next"},
		{"a reference outside", `{"$ref":"https://example.com/x"}`, `1`, ""},
		{"a file", `{"$ref":"file:///etc/passwd"}`, `1`, ""},
		{"a schema that is none", `{"type":"text"}`, `1`, ""},
		{"a pattern", `{"pattern":"^a$"}`, `"b"`, "'b' does not match pattern '^a$' at the root"},
		{"a pattern that is not understood", `{"not":{"pattern":"(?=a)"}}`, `"b"`, ""},
		{"an unknown format", `{"format":"colour"}`, `"b"`, ""},
		{"a known format, which is not asserted", `{"$schema":"http://json-schema.org/draft-07/schema#","format":"email"}`, `"b"`, ""},
		{"an unknown dialect", `{"$schema":"https://example.com","type":"null"}`, `1`, ""},
		{"false", `false`, `1`, "false schema at the root"},
		{"exponential work", doubling + `},"$ref":"#/$defs/a40"}`, `1`, ""},
		{"recursion without end", `{"$ref":"#"}`, `1`, ""},
		{"what is not JSON", `{`, `1`, ""},
		{"a value that is not JSON", `{"type":"null"}`, `{`, ""},
		{"nothing", ``, ``, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			got := ""
			for _, f := range v.CheckStructuredContent([]byte(c.schema), []byte(c.value)) {
				got = f.Seen
			}
			if got != c.want {
				t.Errorf("%s by %s: %q, want %q", c.value, c.schema, got, c.want)
			}
			if spent := time.Since(start); spent > 5*time.Second {
				t.Errorf("it took %v", spent)
			}
		})
	}
}

func TestCheckStructuredWithoutDialect(t *testing.T) {
	v := For(spec.V20250618)
	tuple := []byte(`{"items":[{"type":"string"}]}`)
	if got := v.CheckStructuredContent(tuple, []byte(`[1]`)); got != nil {
		t.Errorf("a schema that 2020-12 refuses is judged: %v", got)
	}
	if got := v.CheckStructuredContent([]byte(`{"type":"object"}`), []byte(`[1]`)); len(got) != 1 || got[0].Kind != NotStructured {
		t.Errorf("what no dialect allows gives %v", got)
	}
}
