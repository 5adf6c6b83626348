package reporters

import (
	"html"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestScriptOfASearch checks that each report that shows sent messages also shows what a search
// sent: an earlier message may have caused the observation.
func TestScriptOfASearch(t *testing.T) {
	t.Parallel()
	f := verdict.Finding{
		ID: "F1", Requirement: "resources.read.result-schema", Level: spec.Must, Basis: spec.Schema, Revision: spec.V20251125, Transport: spec.Stdio,
		Judge: "fuzz.rules", Outcome: verdict.Broken, Summary: "It is broken.", Permitted: "a string", Seen: "null",
		Evidence: []verdict.Evidence{{Direction: "<", Text: `{"id":2}`, Size: 8, Offending: true}},
		Script:   []string{"2 operations, 90 bytes", `→ send {"id":1,"method":"resources/unsubscribe"}`, `→ send {"id":2,"method":"resources/read"}`, "  … by itself, the client cancelled it\x1b"},
		Page:     "https://example.com/page", Replay: []string{"mcp-conform", "replay", "a.json"}, Tries: 3, Reproduced: 3,
	}
	want := []string{
		"✗ BROKEN  resources.read.result-schema  MUST (by the schema) · 2025-11-25 · stdio",
		"  It is broken.",
		"  permitted  a string",
		"  seen       null",
		"  fix        Match the schema: send what it requires, use its types, leave out what has no value.",
		`» ← {"id":2}`,
		"  script     2 operations, 90 bytes",
		`             → send {"id":1,"method":"resources/unsubscribe"}`,
		`             → send {"id":2,"method":"resources/read"}`,
		`               … by itself, the client cancelled it\u001b`,
		"  https://example.com/page",
		"  again: mcp-conform replay a.json",
	}
	if diff := cmp.Diff(want, Entry(&f, ConsoleOptions{})); diff != "" {
		t.Errorf("where no width is known (-want +got):\n%s", diff)
	}
	narrow := Entry(&f, ConsoleOptions{Width: 44})
	if whole := strings.ReplaceAll(strings.Join(narrow, ""), " ", ""); !strings.Contains(whole, "resources/unsubscribe") {
		t.Errorf("on a narrow screen it is cut:\n%s", strings.Join(narrow, "\n"))
	}
	for _, line := range narrow[1 : len(narrow)-2] {
		if width(line) > 44 {
			t.Errorf("%d columns: %s", width(line), line)
		}
	}
	f.Outcome = verdict.Note
	if lines := Entry(&f, ConsoleOptions{}); lines[len(lines)-1] != "  again: mcp-conform replay a.json" {
		t.Errorf("replay has no -v: %s", lines[len(lines)-1])
	}
	f.Outcome = verdict.Broken
	r := &verdict.Report{Revisions: []spec.Revision{f.Revision}, Transport: f.Transport, Findings: []verdict.Finding{f}, Verdicts: []verdict.Verdict{{
		Requirement: f.Requirement, Area: "resources", Level: f.Level, Revision: f.Revision, Transport: f.Transport, Outcome: f.Outcome, Findings: []string{f.ID}, Judges: []string{f.Judge},
	}}}
	for name, w := range map[string]Writer{"JSON": JSON, "HTML": HTML, "Markdown": Markdown, "JUnit": JUnit, "SARIF": SARIF} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := html.UnescapeString(string(write(t, w, r)))
			for _, part := range []string{"2 operations, 90 bytes", "resources/unsubscribe", "resources/read", "the client cancelled it"} {
				if !strings.Contains(strings.ReplaceAll(got, `\/`, "/"), part) {
					t.Errorf("%q is missing", part)
				}
			}
			if strings.Contains(got, "\x1b") {
				t.Error("a terminal would interpret the output")
			}
		})
	}
}
