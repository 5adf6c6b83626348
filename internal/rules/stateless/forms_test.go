package stateless

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// The fixture transcripts show what the rules report and what they permit, one case at a time.
// These tests have the many forms of a single value.

func TestIsDeclared(t *testing.T) {
	for _, c := range []struct {
		declared, required string
		want               bool
	}{
		{`{}`, `{}`, true},
		{`{}`, `{"sampling":{}}`, false},
		{`{"sampling":{}}`, `{"sampling":{}}`, true},
		{`{"sampling":null}`, `{"sampling":{}}`, false},
		{`{"sampling":false}`, `{"sampling":{}}`, false},
		{`{"sampling":{}}`, `{"sampling":{"tools":{}}}`, false},
		{`{"sampling":{"tools":{}}}`, `{"sampling":{"tools":{}}}`, true},
		{`{"elicitation":{}}`, `{"elicitation":{"form":{}}}`, true}, // an empty one means forms
		{`{"elicitation":{}}`, `{"elicitation":{"url":{}}}`, false},
		{`{"elicitation":{"url":{}}}`, `{"elicitation":{"form":{}}}`, false},
		{`{"roots":{},"sampling":{}}`, `{"roots":{},"elicitation":{}}`, false},
	} {
		if got := isDeclared(jsontext.Value(c.declared), jsontext.Value(c.required)); got != c.want {
			t.Errorf("declared %s, required %s: %v", c.declared, c.required, got)
		}
	}
}

func TestTraceForms(t *testing.T) {
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for _, c := range []struct {
		key, text string
		want      bool
	}{
		{"traceparent", "00-" + trace + "-" + span + "-01", true},
		{"traceparent", "00-" + trace + "-" + span + "-01-more", false},
		{"traceparent", "cc-" + trace + "-" + span + "-01-more", true}, // a later version may have more
		{"traceparent", "ff-" + trace + "-" + span + "-01", false},
		{"traceparent", "00-00000000000000000000000000000000-" + span + "-01", false},
		{"traceparent", "00-" + trace + "-0000000000000000-01", false},
		{"traceparent", "00-0AF7651916CD43DD8448EB211C80319C-" + span + "-01", false},
		{"tracestate", "rojo=00f067aa0ba902b7, congo=t61rcWkgMzE", true},
		{"tracestate", "", true},
		{"tracestate", "Rojo=1", false},
		{"tracestate", "rojo", false},
		{"baggage", "userId=alice;ttl=5, serverNode = DF%2028", true},
		{"baggage", "user Id=alice", false},
	} {
		if got := traceKeys[c.key](c.text); got != c.want {
			t.Errorf("%s %q: %v", c.key, c.text, got)
		}
	}
}

func TestMayExist(t *testing.T) {
	for version, want := range map[string]bool{
		"2026-07-28": true, "2031-01-01": true, "2024-01-01": true, "DRAFT-2026-v1": true,
		"1900-01-01": false, "2023-12-31": false, "2026-12-32": false, "9999-12-31": false, "not-a-version": false, "": false,
	} {
		if got := mayBeRevisionName(version); got != want {
			t.Errorf("%q: %v", version, got)
		}
	}
}

func TestIncludesType(t *testing.T) {
	for filter, want := range map[string]bool{
		`{"toolsListChanged":true}`: true, `{"toolsListChanged":["a"]}`: true,
		`{"toolsListChanged":false}`: false, `{"toolsListChanged":[]}`: false, `{"promptsListChanged":true}`: false, `{}`: false, ``: false,
	} {
		if got := filterIncludes(jsontext.Value(filter), "toolsListChanged"); got != want {
			t.Errorf("%s: %v", filter, got)
		}
	}
}
