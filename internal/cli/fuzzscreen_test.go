package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/fuzz"
	"github.com/mcp-conform/mcp-conform/internal/redact"
	"github.com/mcp-conform/mcp-conform/internal/sdk"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestASearchNamesTheSDK checks that a search says which of its findings the server's SDK causes.
func TestASearchNamesTheSDK(t *testing.T) {
	known := sdk.All()[slices.IndexFunc(sdk.All(), func(s sdk.SDK) bool { return s.Name == "typescript-sdk" })]
	for name, c := range map[string]struct {
		used *sdk.Used
		seen string
		want bool
	}{
		"a finding of the SDK":       {&sdk.Used{SDK: &known, Version: "1.32.2"}, `{"code":-32602,"message":"MCP error -32602: Resource a:b not found"}`, true},
		"another finding":            {&sdk.Used{SDK: &known, Version: "1.32.2"}, `{"code":-32603,"message":"not found"}`, false},
		"the SDK was not recognised": {nil, `{"code":-32602,"message":"MCP error -32602: Resource a:b not found"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			a := &app{World: World{Out: &out}, secrets: redact.New()}
			s := &fuzzScreen{a: a, redactor: transcript.NewRedactor(a.secrets), sdk: c.used}
			var f fuzz.Finding
			f.Law, f.Revision, f.Transport, f.Outcome = "rules", spec.V20251125, spec.Stdio, verdict.Warning
			f.Deviation = verdict.Deviation{Requirement: "resources.read.not-found-code-2024-11-05", Summary: "s", Permitted: "error -32002", Seen: c.seen}
			s.found(&f)
			if got := strings.Contains(out.String(), "known in typescript-sdk 1.10.0 to 1.32.2: "); got != c.want {
				t.Errorf("the SDK is named: %t, want %t, in\n%s", got, c.want, out.String())
			}
		})
	}
}

// TestASearchSaysHowToReplay checks that a search which kept no replay files says how to keep them.
func TestASearchSaysHowToReplay(t *testing.T) {
	for _, c := range []struct {
		name, folder string
		findings     []*fuzz.Finding
		want         bool
	}{
		{"findings without a folder", "", []*fuzz.Finding{{}}, true},
		{"findings with a folder", "found", []*fuzz.Finding{{}}, false},
		{"no findings", "", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			s := &fuzzScreen{a: &app{World: World{Out: &out}, secrets: redact.New()}, folder: c.folder}
			s.end(&fuzz.Report{Findings: c.findings})
			if got := strings.Contains(out.String(), "--out FOLDER"); got != c.want {
				t.Errorf("the search names --out: %t in\n%s", got, out.String())
			}
		})
	}
}
