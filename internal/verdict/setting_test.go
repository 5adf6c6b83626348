package verdict

import (
	"encoding/json"
	"testing"
)

// TestSettingsAreTexts checks that a setting has the documented text in JSON, and is read from it.
func TestSettingsAreTexts(t *testing.T) {
	for _, x := range []struct {
		setting Setting
		text    string
	}{
		{Setting{Tool: "slow-task"}, "tools: {call: [safe, slow-task]}"},
		{Setting{Tool: "a]}"}, "tools: {call: [safe, a]}]}"},
		{Setting{Fixture: "slow: {tool: NAME, arguments: {…}}"}, "fixtures: {slow: {tool: NAME, arguments: {…}}}"},
	} {
		raw, err := json.Marshal(Verdict{Lacks: x.setting})
		if err != nil {
			t.Fatal(err)
		}
		var fields struct{ Lacks string }
		var back Verdict
		if err := json.Unmarshal(raw, &fields); err != nil || fields.Lacks != x.text {
			t.Errorf("%+v is written as %q (%v), want %q", x.setting, fields.Lacks, err, x.text)
		}
		if err := json.Unmarshal(raw, &back); err != nil || back.Lacks != x.setting {
			t.Errorf("%q is read as %+v (%v)", fields.Lacks, back.Lacks, err)
		}
	}
	var all map[string]any
	raw, err := json.Marshal(Verdict{})
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	if _, has := all["lacks"]; err != nil || has {
		t.Errorf("a verdict that lacks nothing is written as %s (%v)", raw, err)
	}
	if err := new(Setting).UnmarshalText([]byte("timeouts: {call: 3s}")); err == nil {
		t.Error("another part of the configuration is read as a setting")
	}
}
