package inventory

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

func inventoryWith(policy Policy, tools ...Tool) *Inventory {
	return &Inventory{Tools: tools, config: Config{Policy: policy}}
}

func TestKnownTools(t *testing.T) {
	slow, everything := Tool{Name: "slow", ReadOnly: true, Raw: nil}, Tool{Name: "trigger-long-running-operation", ReadOnly: true, Raw: nil}
	changes := Tool{Name: "slow", ReadOnly: false, Raw: nil}
	for _, c := range []struct {
		name string
		v    *Inventory
		want map[string]any
	}{
		{"none", inventoryWith(CallAll), nil},
		{"one", inventoryWith(CallSafe, slow), map[string]any{"durationMs": int64(300), "steps": 6}},
		{"the first of two", inventoryWith(CallSafe, everything, slow), map[string]any{"durationMs": int64(300), "steps": 6}},
		{"in seconds", inventoryWith(CallSafe, everything), map[string]any{"duration": 0.3, "steps": 6}},
		{"not allowed", inventoryWith(CallSafe, changes), nil},
		{"all allowed", inventoryWith(CallAll, changes), map[string]any{"durationMs": int64(300), "steps": 6}},
		{"nothing allowed", inventoryWith(CallNone, slow), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, ok := c.v.SlowCall(300*time.Millisecond, 6)
			if diff := cmp.Diff(c.want, k.Arguments); diff != "" || ok != (c.want != nil) {
				t.Errorf("found %v; arguments (-want +got):\n%s", ok, diff)
			}
		})
	}
	v := inventoryWith(CallSafe, tool("log"), tool("fail"), tool("content"), tool("ask-roots"), tool("sampleLLM"))
	log, _ := v.LoggingCall()
	ask, _ := v.AskingCall()
	if log.Tool != "log" || ask.Tool != "ask-roots" {
		t.Errorf("%q logs and %q asks", log.Tool, ask.Tool)
	}
	want := map[string]any{"name": "log", "arguments": map[string]any{}, "_meta": map[string]any{"progressToken": 7}}
	if diff := cmp.Diff(want, log.ParamsWithToken(7)); diff != "" || len(log.Params()) != 2 {
		t.Errorf("params (-want +got):\n%s", diff)
	}
}

// tool returns a tool that may be called under the safe policy.
func tool(name string) Tool { return Tool{Name: name, ReadOnly: true} }

func TestFixturesByRole(t *testing.T) {
	all := &Inventory{Resources: []string{"demo://note"}, config: Config{Policy: CallAll}}
	for _, f := range fixtures {
		all.Tools = append(all.Tools, Tool{Name: f.Tool})
	}
	for _, role := range Roles() {
		if !all.HasCall(role) {
			t.Errorf("nothing is known to play the role %s", role)
		}
	}
	for _, f := range fixtures {
		if !slices.Contains(Roles(), f.Role) || (f.Role == ChangesResource) != (f.Resource != "") {
			t.Errorf("a fixture is %+v", f)
		}
	}
	sampling, _ := all.AskingCallFor(spec.MethodSampling)
	roots, _ := all.AskingCallFor(spec.MethodRootsList)
	elicitation, _ := all.AskingCallFor(spec.MethodElicit)
	list, _ := all.ListChangeCall(spec.MethodPromptsList)
	got := []string{sampling.Tool, roots.Tool, elicitation.Tool, list.Tool, list.Arguments["list"].(string)}
	if diff := cmp.Diff([]string{"ask-sampling", "ask-roots", "ask-elicitation", "trigger-list-changed", "prompts"}, got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if _, ok := all.AskingCallFor(spec.MethodPing); ok {
		t.Error("a tool is known to send pings")
	}
	if _, ok := all.ListChangeCall(spec.MethodResourcesTemplates); ok {
		t.Error("a tool is known to change the templates")
	}
}

func TestOtherToolsWithKnownNames(t *testing.T) {
	schema := func(name, properties string) Tool {
		return Tool{Name: name, ReadOnly: true, Raw: []byte(`{"inputSchema":{"type":"object","properties":{` + properties + `}}}`)}
	}
	for _, c := range []struct {
		name  string
		tools []Tool
		role  Role
		want  bool
	}{
		{"a log by itself may be any", []Tool{tool("log")}, Logging, false},
		{"one beside others of the reference server", []Tool{tool("log"), tool("fail"), tool("add")}, Logging, true},
		{"slow with the arguments", []Tool{schema("slow", `"durationMs":{},"steps":{}`)}, Slow, true},
		{"slow with others", []Tool{schema("slow", `"query":{}`)}, Slow, false},
	} {
		if got := inventoryWith(CallSafe, c.tools...).HasCall(c.role); got != c.want {
			t.Errorf("%s: known: %v", c.name, got)
		}
	}
}

func TestResourceChange(t *testing.T) {
	v := inventoryWith(CallSafe, tool("update-resource"), tool("mine"))
	if _, _, ok := v.ResourceChangeCall(); ok || v.HasCall(ChangesResource) {
		t.Error("a resource is taken for known that is not listed")
	}
	v.Resources = []string{"demo://note"}
	k, uri, _ := v.NumberedResourceChangeCall(2)
	if diff := cmp.Diff(KnownCall{Tool: "update-resource", Arguments: map[string]any{"text": "changed 2"}}, k); diff != "" || uri != "demo://note" {
		t.Errorf("%s is changed by (-want +got):\n%s", uri, diff)
	}
	v.config.Fixtures = []Fixture{{Role: ChangesResource, Tool: "mine", Resource: "mine://one", Arguments: map[string]any{
		"n": "{count}", "list": []any{"{count}th", true}, "{count}": "{other}",
	}}}
	k, uri, _ = v.ResourceChangeCall()
	want := KnownCall{Tool: "mine", Arguments: map[string]any{"n": 1, "list": []any{"1th", true}, "{count}": "{other}"}, IsConfigured: true}
	if diff := cmp.Diff(want, k); diff != "" || uri != "mine://one" {
		t.Errorf("%s is changed by (-want +got):\n%s", uri, diff)
	}
}

func TestOwnFixturesComeFirst(t *testing.T) {
	v := inventoryWith(CallSafe, tool("slow"), tool("mine"), Tool{Name: "unsafe"}, tool("test_sampling"))
	v.config.Fixtures = []Fixture{{Role: Slow, Tool: "absent"}, {Role: Slow, Tool: "unsafe"}, {Role: Slow, Tool: "mine"}, {Role: AsksSampling, Tool: "mine"}}
	var got []string
	for _, k := range v.KnownCalls(Slow) {
		got = append(got, k.Tool)
	}
	if diff := cmp.Diff([]string{"unsafe", "mine", "slow"}, got); diff != "" {
		t.Errorf("slow tools (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"mine", "test_sampling"}, names(v.AskingTools(AsksSampling))); diff != "" {
		t.Errorf("askers (-want +got):\n%s", diff)
	}
}

func TestBareTools(t *testing.T) {
	tool := func(name, schema string) Tool {
		return Tool{Name: name, ReadOnly: true, Raw: []byte(`{"inputSchema":` + schema + `}`)}
	}
	v := inventoryWith(CallSafe,
		tool("required", `{"type":"object","required":["a"]}`),
		tool("none", `{"type":"object"}`),
		tool("optional", `{"type":"object","properties":{"a":{}},"required":[]}`),
		tool("choice", `{"type":"object","anyOf":[{"required":["a"]}]}`),
		tool("reference", `{"$ref":"#/$defs/a"}`),
		tool("least", `{"type":"object","minProperties":1}`),
		Tool{Name: "no schema", ReadOnly: true, Raw: []byte(`{}`)},
		Tool{Name: "unsafe", ReadOnly: false, Raw: []byte(`{"inputSchema":{}}`)},
		tool("empty", `{}`),
		tool("one more", `{}`),
	)
	var got []string
	for _, k := range v.CallsWithoutArguments(3) {
		got = append(got, k.Tool)
	}
	if diff := cmp.Diff([]string{"none", "optional", "empty"}, got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}
