package inventory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func offering(policy Policy, tools ...Tool) *Inventory {
	return &Inventory{Tools: tools, policy: policy}
}

func TestKnownTools(t *testing.T) {
	slow, everything := Tool{"slow", true, nil}, Tool{"trigger-long-running-operation", true, nil}
	changes := Tool{"slow", false, nil}
	for _, c := range []struct {
		name string
		v    *Inventory
		want map[string]any
	}{
		{"none", offering(CallAll), nil},
		{"one", offering(CallSafe, slow), map[string]any{"durationMs": int64(300), "steps": 6}},
		{"the first of two", offering(CallSafe, everything, slow), map[string]any{"durationMs": int64(300), "steps": 6}},
		{"in seconds", offering(CallSafe, everything), map[string]any{"duration": 0.3, "steps": 6}},
		{"not allowed", offering(CallSafe, changes), nil},
		{"all allowed", offering(CallAll, changes), map[string]any{"durationMs": int64(300), "steps": 6}},
		{"nothing allowed", offering(CallNone, slow), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, ok := c.v.Slow(300*time.Millisecond, 6)
			if diff := cmp.Diff(c.want, k.Arguments); diff != "" || ok != (c.want != nil) {
				t.Errorf("found %v; arguments (-want +got):\n%s", ok, diff)
			}
		})
	}
	v := offering(CallSafe, Tool{"log", true, nil}, Tool{"ask-roots", true, nil}, Tool{"sampleLLM", true, nil})
	log, _ := v.Logging()
	ask, _ := v.Asking()
	if log.Tool != "log" || ask.Tool != "ask-roots" {
		t.Errorf("%q logs and %q asks", log.Tool, ask.Tool)
	}
	want := map[string]any{"name": "log", "arguments": map[string]any{}, "_meta": map[string]any{"progressToken": 7}}
	if diff := cmp.Diff(want, log.WithToken(7)); diff != "" || len(log.Params()) != 2 {
		t.Errorf("params (-want +got):\n%s", diff)
	}
}

func TestBareTools(t *testing.T) {
	tool := func(name, schema string) Tool { return Tool{name, true, []byte(`{"inputSchema":` + schema + `}`)} }
	v := offering(CallSafe,
		tool("required", `{"type":"object","required":["a"]}`),
		tool("none", `{"type":"object"}`),
		tool("optional", `{"type":"object","properties":{"a":{}},"required":[]}`),
		tool("choice", `{"type":"object","anyOf":[{"required":["a"]}]}`),
		tool("reference", `{"$ref":"#/$defs/a"}`),
		tool("least", `{"type":"object","minProperties":1}`),
		Tool{"no schema", true, []byte(`{}`)},
		Tool{"unsafe", false, []byte(`{"inputSchema":{}}`)},
		tool("empty", `{}`),
		tool("one more", `{}`),
	)
	var got []string
	for _, k := range v.Bare(3) {
		got = append(got, k.Tool)
	}
	if diff := cmp.Diff([]string{"none", "optional", "empty"}, got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}
