package reporters

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// insecureReport returns a report with two weaknesses; in one of them the server exits.
func insecureReport() *verdict.Report {
	r := &verdict.Report{Tool: "mcp-conform", Transport: spec.StreamableHTTP, Revisions: []spec.Revision{spec.V20251125, spec.V20250618}}
	say := func(requirement string, o verdict.Outcome, revs ...spec.Revision) {
		for _, rev := range revs {
			r.Verdicts = append(r.Verdicts, verdict.Verdict{
				Requirement: requirement, Area: spec.AreaOf(requirement), Level: spec.Must, Revision: rev, Transport: r.Transport, Outcome: o,
			})
		}
	}
	both := r.Revisions
	say("streamable-http.session-isolation", verdict.Kept, both...)
	say("streamable-http.no-broadcast", verdict.Kept, spec.V20251125)
	say("streamable-http.no-broadcast", verdict.NotObserved, spec.V20250618)
	say("resources.read.path-traversal", verdict.NotObserved, both...)
	say("logging.no-secrets", verdict.NotApplicable, both...)
	say("base.batch-receive", verdict.Warning, both...) // in a harmless way
	say("ping.responds", verdict.NotObserved, both...)
	b := verdict.Extend(r)
	for _, f := range []verdict.Finding{
		{Requirement: "streamable-http.origin-validated", Outcome: verdict.Broken, CWE: 346, Summary: "The server accepts any Origin."},
		{Requirement: "base.parse-error", Outcome: verdict.Warning, CWE: spec.CrashCWE, Summary: "The server ends."},
		{Requirement: "base.request-answered", Outcome: verdict.Broken, CWE: spec.CrashCWE, Summary: "The server ends."},
		{Requirement: "base.response-once", Outcome: verdict.Broken, Summary: "The server answers twice."},
	} {
		for _, f.Revision = range both {
			f.Level, f.Transport, f.Basis = spec.Must, r.Transport, spec.Keyword
			b.AddFinding(f.Key(), func() verdict.Finding { return f })
		}
	}
	return b.Build()
}

var insecureLines = []string{
	"3 requirements with findings, 1 kept, 2 not observed",
	"CWE-248 Uncaught Exception: base.request-answered, base.parse-error (warning)",
	"CWE-346 Origin Validation Error: streamable-http.origin-validated",
}

func TestSecurityIsOneSection(t *testing.T) {
	var console bytes.Buffer
	NewConsole(&console, ConsoleOptions{}).End(insecureReport())
	for name, doc := range map[string]string{
		"console": console.String(), "tap": string(write(t, TAP, insecureReport())), "junit": string(write(t, JUnit, insecureReport())), "github": string(write(t, GitHub, insecureReport())),
	} {
		for _, line := range insecureLines {
			if !strings.Contains(doc, line) {
				t.Errorf("%s has no line %q", name, line)
			}
		}
	}
	md := string(write(t, Markdown, insecureReport()))
	if want := "* ❌ [CWE-346 Origin Validation Error](https://cwe.mitre.org/data/definitions/346.html): streamable-http.origin-validated\n"; !strings.Contains(md, want) || strings.Count(md, insecureLines[0]) != 1 {
		t.Errorf("the section of the comment is missing or different:\n%s", head(md, 1500))
	}
	page := string(write(t, HTML, insecureReport()))
	if want := `: <a href="#finding-2"><code>streamable-http.origin-validated</code></a></li>`; !strings.Contains(page, want) && !strings.Contains(page, strings.Replace(want, "2", "3", 1)) {
		t.Error("the section of the page has no link to the finding")
	}
	if strings.Index(page, `id="security"`) < strings.Index(page, `id="findings"`) {
		t.Error("the section comes before the findings")
	}
}

// TestFindingNamesItsWeaknessAndBasis checks that the line of a finding names its weakness, and the
// basis of the requirement if that is not a keyword.
func TestFindingNamesItsWeaknessAndBasis(t *testing.T) {
	r := insecureReport()
	for i := range r.Findings {
		r.Findings[i].Basis, r.Findings[i].Level = spec.JSONRPC, spec.Should
	}
	var console bytes.Buffer
	NewConsole(&console, ConsoleOptions{}).End(r)
	if text := console.String(); !strings.Contains(text, "SHOULD (of a standard that MCP refers to) · CWE-346") {
		t.Errorf("the console:\n%s", text)
	}
	if page := string(write(t, HTML, r)); !strings.Contains(page, "<span>SHOULD</span><span>CWE-346</span>") {
		t.Error("the card of a finding has no CWE")
	}
}

func TestSecurityInJSON(t *testing.T) {
	var doc struct{ Security verdict.Security }
	if err := json.Unmarshal(write(t, JSON, insecureReport()), &doc); err != nil {
		t.Fatal(err)
	}
	want := verdict.Security{Findings: []string{"F1", "F2", "F5", "F6", "F7", "F8"}, WithFindings: 3, Kept: 1, NotObserved: 2}
	if diff := cmp.Diff(want, doc.Security); diff != "" {
		t.Error(diff)
	}
}

func TestSecurityWithoutFindingsIsOneLine(t *testing.T) {
	lines := func(r *verdict.Report) []string {
		return NewConsole(&bytes.Buffer{}, ConsoleOptions{}).securityLines(r)
	}
	r := insecureReport()
	r.Findings = nil
	if diff := cmp.Diff([]string{"security: 1 requirement kept, 2 not observed"}, lines(r)); diff != "" {
		t.Error(diff)
	}
	r.Verdicts = nil
	if got := lines(r); got != nil {
		t.Errorf("a report that judged nothing has the lines %q", got)
	}
}

// TestSARIFSecurityTags checks the properties that make GitHub show a finding as a security
// alert.
func TestSARIFSecurityTags(t *testing.T) {
	var log sarifLog
	if err := json.Unmarshal(write(t, SARIF, insecureReport()), &log); err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, rule := range log.Runs[0].Tool.Driver.Rules {
		got[rule.ID] = []any{rule.Properties["tags"], rule.Properties["security-severity"]}
	}
	want := map[string]any{
		"streamable-http.origin-validated": []any{[]any{"mcp", "streamable-http", "MUST", "security", "external/cwe/cwe-346"}, "7.5"},
		"base.request-answered":            []any{[]any{"mcp", "base", "MUST", "security", "external/cwe/cwe-248"}, "7.5"},
		"base.parse-error":                 []any{[]any{"mcp", "base", "MUST", "security", "external/cwe/cwe-248"}, "5.0"},
		"base.response-once":               []any{[]any{"mcp", "base", "MUST NOT"}, nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
