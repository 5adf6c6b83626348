package reporters

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/mcp-conform/mcp-conform/internal/conformance"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// conformanceRead returns the conformance report of a run as its readers get it.
func conformanceRead(t *testing.T, r *verdict.Report) *conformance.Report {
	t.Helper()
	out := &conformance.Report{}
	if err := yaml.Unmarshal(write(t, Conformance, r), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestConformanceIsValid checks that whatever a server says, the report can be read by its
// schema, and does not contradict itself.
func TestConformanceIsValid(t *testing.T) {
	blank := reportWithEachOutcome()
	blank.Server = verdict.Server{Name: "\u202e\n", Version: " \t"}
	blank.Incomplete, blank.Command = "\x1b[31mgone\n# profiles: []", []string{"a b", "'", "\n"}
	for name, r := range map[string]*verdict.Report{"every": reportWithEachOutcome(), "clean": cleanReport(), "hostile": hostileReport(), "blank": blank, "nothing": {Tool: "mcp-conform", Version: "1", Incomplete: "gone"}} {
		path := filepath.Join(t.TempDir(), "conformance.yaml")
		if err := os.WriteFile(path, write(t, Conformance, r), 0o600); err != nil {
			t.Fatal(err)
		}
		read, err := conformance.Read(path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if wrong := read.Contradictions(); len(wrong) > 0 {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}

func TestConformanceDiffersOnlyInTheDate(t *testing.T) {
	a, b := reportWithEachOutcome(), reportWithEachOutcome()
	b.Stats.Started = b.Stats.Started.Add(24 * time.Hour)
	b.Stats.Took, b.Stats.Messages = 0, 7
	x, y := conformanceRead(t, a), conformanceRead(t, b)
	if x.Date == y.Date {
		t.Error("the date is not that of the run")
	}
	y.Date = x.Date
	if diff := cmp.Diff(x, y); diff != "" {
		t.Error(diff)
	}
}

func TestConformanceHasTheKnownFindings(t *testing.T) {
	r := reportWithEachOutcome()
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; v.Outcome == verdict.Broken && v.Revision == spec.V20251125 {
			v.Known = "fixed in 2.0"
		}
	}
	want := []conformance.Finding{
		{Requirement: "tools.list.result-schema", Verdict: "harness error", Revisions: []spec.Revision{spec.V20251125, spec.V20250618}},
		{Requirement: "base.response-id-echo", Verdict: "broken", Revisions: []spec.Revision{spec.V20250618}},
		{Requirement: "base.response-id-echo", Verdict: "broken", Revisions: []spec.Revision{spec.V20251125}, Known: "fixed in 2.0"},
		{Requirement: "lifecycle.initialize-first", Verdict: "flaky", Revisions: []spec.Revision{spec.V20251125, spec.V20250618}},
		{Requirement: "stdio.exit-on-sigterm", Verdict: "warning", Revisions: []spec.Revision{spec.V20251125, spec.V20250618}},
	}
	if diff := cmp.Diff(want, conformanceRead(t, r).Findings); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestConformanceHasTheProfilesOfTheRun(t *testing.T) {
	r := reportWithEachOutcome()
	all := conformanceRead(t, r)
	var names []string
	for _, p := range all.Profiles {
		names = append(names, p.Name)
	}
	if got := strings.Join(names, " "); !strings.HasPrefix(got, "core@1 tools@1 ") || strings.Contains(got, "sse@1") || !strings.HasSuffix(got, " full@1") {
		t.Errorf("profiles of a whole run over stdio: %s", got)
	}
	r.Profiles = []verdict.ProfileResult{r.ProfileOf(spec.LookupProfile("stdio@1"))}
	one := conformanceRead(t, r)
	if len(one.Profiles) != 1 || one.Profiles[0].Name != "stdio@1" || one.Profiles[0].Extended.Warned != 1 {
		t.Errorf("profiles of a run that was limited to stdio@1: %+v", one.Profiles)
	}
	if wrong := append(all.Contradictions(), one.Contradictions()...); len(wrong) > 0 {
		t.Error(wrong)
	}
}

// TestProfileBadges checks that each result has its colour, and that what was not observed
// is not counted as kept.
func TestProfileBadges(t *testing.T) {
	for _, c := range []struct {
		p          verdict.ProfileResult
		text, name string
	}{
		{verdict.ProfileResult{Result: verdict.ProfilePassed, Core: verdict.ProfileCount{Kept: 3, NotObserved: 4, NotApplicable: 9}}, "passed, 3 of 7", "brightgreen"},
		{verdict.ProfileResult{Result: verdict.ProfileFailed, Core: verdict.ProfileCount{Kept: 3, Broken: 2}}, "2 of 5 broken", "red"},
		{verdict.ProfileResult{Result: verdict.ProfileNotObserved, Core: verdict.ProfileCount{Kept: 1, NotObserved: 2}}, "not observed, 1 of 3", "lightgrey"},
		{verdict.ProfileResult{Result: verdict.ProfileIncomplete, Core: verdict.ProfileCount{Skipped: 3}}, "incomplete, 0 of 3", "yellow"},
		{verdict.ProfileResult{Result: verdict.ProfileNotApplicable, Core: verdict.ProfileCount{NotApplicable: 3}}, "not applicable", "lightgrey"},
	} {
		c.p.Name = "core@1"
		if b := profileBadge(&c.p); b.text != c.text || b.name != c.name || b.label != "MCP core@1" {
			t.Errorf("%s: got %+v", c.p.Result, b)
		}
	}
	r := reportWithEachOutcome()
	r.Profiles = []verdict.ProfileResult{r.ProfileOf(spec.LookupProfile("stdio@1"))}
	if got := string(write(t, Badge, r)); !strings.Contains(got, "<title>MCP stdio@1: not observed, 1 of ") {
		t.Errorf("the badge of a run that was limited to a profile:\n%s", got)
	}
}

// TestReportsShowProfiles checks that each report for people or CI systems has the result of
// a profile and how many of its requirements were observed, and that the report of a run without
// profiles mentions none.
func TestReportsShowProfiles(t *testing.T) {
	console := func(w io.Writer, r *verdict.Report) error {
		NewConsole(w, ConsoleOptions{Quiet: true}).End(r)
		return nil
	}
	plain, r := reportWithEachOutcome(), reportWithEachOutcome()
	core := r.ProfileOf(spec.LookupProfile("core@1"))
	all := core.All()
	if all.Broken != 1 || all.Flaky != 1 || all.Observed() != 2 {
		t.Fatalf("the sample has other counts: %+v", all)
	}
	r.Profiles = []verdict.ProfileResult{core, r.ProfileOf(spec.LookupProfile("sse@1"))}
	came := fmt.Sprintf("2 of %d", all.Applicable())
	for _, c := range []struct {
		name   string
		write  Writer
		wanted []string
	}{
		{"console", console, []string{"\nprofile core@1 failed · " + came + " applicable requirements observed · 1 broken · 1 flaky · "}},
		{"Markdown", Markdown, []string{
			fmt.Sprintf("| core&#64;<!-- -->1 | ❌ failed | %d of %d | %d of %d | 1 | 0 | ", core.Core.Observed(), core.Core.Applicable(), core.Extended.Observed(), core.Extended.Applicable()),
		}},
		{"HTML", HTML, []string{
			`<h2 id="profiles">`, `core@1</th><td role="cell" class="left"><span class="badge broken">failed</span></td><td role="cell" data-label="observed">` + came + `</td>`,
			`sse@1</th><td role="cell" class="left"><span class="badge nothing">not applicable</span></td>`,
			`data-label="flaky">1</td>`, `data-label="broken" class="zero">0</td>`,
		}},
		{"JUnit", JUnit, []string{`<property name="profile.core@1" value="failed: ` + came + ` applicable requirements observed, 1 broken, 1 flaky, `}},
		{"TAP", TAP, []string{"\n# profile core@1 failed · " + came + " applicable requirements observed · 1 broken"}},
		{"GitHub", GitHub, []string{"%0Aprofile core@1 failed · " + came + " applicable requirements observed · 1 broken"}},
		{"outputs", Outputs, []string{fmt.Sprintf("\nprofiles=core@1:failed:2/%d,sse@1:not-applicable:0/0\n", all.Applicable())}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := string(write(t, c.write, r))
			for _, wanted := range c.wanted {
				if !strings.Contains(got, wanted) {
					t.Errorf("does not contain %q:\n%s", wanted, head(got, 6000))
				}
			}
			if c.name == "HTML" && strings.Contains(got, "unconfirmed</th>") {
				t.Error("the page has a column of zeros")
			}
			if got := string(write(t, c.write, plain)); strings.Contains(got, "core@1") || strings.Contains(got, `id="profiles"`) || strings.Contains(got, "profiles=") {
				t.Error("a run without profiles reports one")
			}
		})
	}
}

// TestMatrix checks the table of several reports, one of which is hostile and one of which
// has a profile of a newer tool.
func TestMatrix(t *testing.T) {
	fine := conformanceRead(t, reportWithEachOutcome())
	fine.Implementation = verdict.Implementation{Organization: "Example", Project: "odd", URL: "https://example.com/odd", Version: "2"}
	hostile := conformanceRead(t, cleanReport())
	hostile.Implementation = verdict.Implementation{
		Project: `<script>alert(1)</script> | [x](javascript:x) @someone`, URL: "javascript:alert(1)", Organization: "*a*\n| b |", Version: "`1`",
	}
	hostile.Profiles = append(hostile.Profiles[:2:2], conformance.Profile{Name: "pigeons@7", Result: verdict.ProfilePassed, Core: verdict.ProfileCount{Kept: 1}})
	reports := []*conformance.Report{fine, hostile}
	var markdown, page bytes.Buffer
	if err := MatrixMarkdown(&markdown, reports); err != nil {
		t.Fatal(err)
	}
	if err := MatrixHTML(&page, reports); err != nil {
		t.Fatal(err)
	}
	golden(t, "matrix.md", markdown.Bytes())
	golden(t, "matrix.html", page.Bytes())
	for _, bad := range []struct{ text, has string }{
		{markdown.String(), "<script"}, {markdown.String(), "(javascript:"}, {markdown.String(), " @someone"}, {page.String(), "<script"}, {page.String(), `"javascript:`},
	} {
		if strings.Contains(bad.text, bad.has) {
			t.Errorf("a hostile name is not escaped: %s in\n%s", bad.has, bad.text)
		}
	}
}
