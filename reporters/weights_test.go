package reporters

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

func TestReasonForWarningOnMust(t *testing.T) {
	for _, c := range []struct {
		level   spec.Level
		basis   spec.Basis
		outcome verdict.Outcome
		want    string
	}{
		{spec.Must, spec.Keyword, verdict.Broken, "MUST"},
		{spec.Must, spec.Schema, verdict.Broken, "MUST (by the schema)"},
		{spec.Must, spec.Incorporated, verdict.Broken, "MUST (of a standard that MCP builds on)"},
		{spec.Must, spec.JSONRPC, verdict.Warning, "MUST (only a warning: from a standard that MCP refers to)"},
		{spec.MustNot, spec.Derived, verdict.Warning, "MUST NOT (only a warning: implied by the specification, which does not write MUST NOT)"},
		{spec.Must, spec.Keyword, verdict.Warning, "MUST (only a warning: this case is open to interpretation)"},
		{spec.Should, spec.Keyword, verdict.Warning, "SHOULD"},
		{spec.Should, spec.Derived, verdict.Warning, "SHOULD (implied by the specification)"},
	} {
		if got := describeLevel(&verdict.Finding{Level: c.level, Basis: c.basis, Outcome: c.outcome}); got != c.want {
			t.Errorf("%s, %s, %v: %q, want %q", c.level, c.basis, c.outcome, got, c.want)
		}
	}
}

func TestJUnitSaysWhatFailsTheRun(t *testing.T) {
	for failOn, want := range map[string]int{"": 1, "must": 1, FailOnShould: 2} {
		r := &verdict.Report{FailOn: failOn, Verdicts: []verdict.Verdict{
			{Requirement: "a", Area: "x", Level: spec.Must, Outcome: verdict.Broken},
			{Requirement: "b", Area: "x", Level: spec.Should, Outcome: verdict.Warning},
			{Requirement: "c", Area: "x", Level: spec.Should, Outcome: verdict.Flaky},
			{Requirement: "d", Area: "x", Level: spec.Should, Outcome: verdict.Note},
			{Requirement: "e", Area: "x", Level: spec.Should, Outcome: verdict.Kept},
		}}
		var out strings.Builder
		if err := JUnit(&out, r); err != nil {
			t.Fatal(err)
		}
		var doc junitSuites
		if err := xml.Unmarshal([]byte(out.String()), &doc); err != nil {
			t.Fatal(err)
		}
		if doc.Failures != want || doc.Tests != 5 {
			t.Errorf("--fail-on %q: %d failures of %d, want %d of 5", failOn, doc.Failures, doc.Tests, want)
		}
	}
}
