package reporters

import (
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestUnconfirmedFindings checks that every reporter says so in words if a
// finding could not be retried, and calls it neither broken nor flaky.
func TestUnconfirmedFindings(t *testing.T) {
	r := reportWithEachOutcome()
	r.Verdicts, r.Incomplete = nil, ""
	f := r.Findings[0]
	f.Outcome, f.Tries, f.Reproduced, f.Void = verdict.Unconfirmed, 0, 0, 3
	r.Findings = []verdict.Finding{f}
	r.Verdicts = []verdict.Verdict{{
		Requirement: f.Requirement, Area: "base", Level: f.Level, Revision: f.Revision, Transport: f.Transport,
		Outcome: verdict.Unconfirmed, Findings: []string{f.ID}, Judges: []string{f.Judge},
	}}
	r.Revisions = r.Revisions[:0:0]
	r.Revisions = append(r.Revisions, f.Revision)
	const word, why = "unconfirmed", "no fresh server started in 3 attempts"
	for name, text := range map[string]string{
		"console": play(r, ConsoleOptions{Width: 200}), "JUnit": string(write(t, JUnit, r)), "SARIF": string(write(t, SARIF, r)),
		"HTML": string(write(t, HTML, r)), "Markdown": string(write(t, Markdown, r)), "GitHub": string(write(t, GitHub, r)), "TAP": string(write(t, TAP, r)),
	} {
		if !strings.Contains(strings.ToLower(text), word) || !strings.Contains(text, why) {
			t.Errorf("%s does not say %q and %q:\n%s", name, word, why, text[:min(len(text), 4000)])
		}
		if strings.Contains(text, "of 0 retries") || strings.Contains(text, "BROKEN") {
			t.Errorf("%s says more than is known:\n%s", name, text[:min(len(text), 4000)])
		}
	}
	for name, text := range map[string]string{"badge": string(write(t, Badge, r)), "outputs": string(write(t, Outputs, r)), "JSON": string(write(t, JSON, r))} {
		if !strings.Contains(text, word) {
			t.Errorf("the %s does not say %q:\n%s", name, word, text)
		}
	}
	if !strings.Contains(string(write(t, JSON, r)), `"void": 3`) {
		t.Error("the JSON does not contain how often no fresh server started")
	}
}
