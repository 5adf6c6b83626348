package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// sample returns a report that lacks nothing.
func sample() *Report {
	sse := spec.LookupProfile("sse@1")
	p := verdict.ProfileResult{
		Name: sse.Name, Core: verdict.ProfileCount{Kept: len(sse.Core) - 1, Broken: 1},
		Extended: verdict.ProfileCount{Kept: 1, NotObserved: len(sse.Extended) - 1},
	}
	return &Report{
		APIVersion: APIVersion, Kind: Kind,
		Implementation: verdict.Implementation{Organization: "Example: Corp", Project: "- weather", URL: "https://example.com", Version: "1.10", Contact: []string{"a@example.com"}},
		Server:         verdict.Server{Name: "weather"},
		Tool:           Tool{Name: "mcp-conform", Version: "1.0.0", Catalogue: Digest(spec.CatalogueDigest())},
		Date:           "2026-01-02T03:04:05Z", Transports: []spec.Transport{spec.SSE}, Revisions: []spec.Revision{spec.V20241105},
		Profiles: []Profile{{Name: p.Name, Digest: Digest(sse.Digest), Result: p.Conclude(true), Core: p.Core, Extended: p.Extended}},
		Findings: []Finding{{Requirement: "sse.origin-validated", Verdict: "broken", Revisions: []spec.Revision{spec.V20241105}, Known: "fixed: in 2.0"}},
		Command:  "mcp-conform run 'http://localhost/sse'",
	}
}

// written writes the text of a report to a file, and returns its path.
func written(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "conformance.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func text(t *testing.T, r *Report) string {
	out, err := r.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	want := sample()
	got, err := Read(written(t, text(t, want)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if wrong, missing := got.Contradictions(), got.Gaps(); len(wrong)+len(missing) > 0 {
		t.Errorf("wrong %q, missing %q", wrong, missing)
	}
}

// TestAnyTextIsReadAsWritten checks that no text of a server or user spoils the file.
func TestAnyTextIsReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.StringMatching(`[ -~äß日\n]{0,30}[a-z]`)
		want := sample()
		want.Implementation.Organization, want.Implementation.Version = words.Draw(t, "organization"), words.Draw(t, "version")
		want.Findings[0].Known, want.Incomplete = words.Draw(t, "known"), words.Draw(t, "incomplete")
		out, err := want.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		got, err := parse("a.yaml", out, func(_, format string, args ...any) error { return &FileError{Problems: []string{format}} })
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	})
}

func TestWrongFiles(t *testing.T) {
	for name, c := range map[string]struct{ old, new, says string }{
		"a newer format":         {"mcp-conform/v1", "mcp-conform/v2", "the format mcp-conform/v2, which is newer than mcp-conform/v1"},
		"a foreign format":       {"mcp-conform/v1", "example.com/v1", `its apiVersion is "example.com/v1"`},
		"another kind":           {"ConformanceReport", "Gateway", "its kind is not ConformanceReport"},
		"an unknown key":         {"date:", "day: 1\ndate:", "at the top: additional properties 'day' not allowed"},
		"a missing key":          {"command:", "server:", `occurs twice`},
		"a negative count":       {"broken: 1", "broken: -1", "at profiles[0].core.broken: minimum: got -1, want 0"},
		"a huge count":           {"broken: 1", "broken: 9223372036854775807", "at profiles[0].core.broken: maximum: got "},
		"a second document":      {"command:", "---\ncommand:", "a second document follows the report"},
		"a count in words":       {"broken: 1", "broken: one", "at profiles[0].core.broken: got string, want integer"},
		"an unknown result":      {"result: failed", "result: fine", "at profiles[0].result: value must be one of"},
		"an unknown transport":   {"[sse]", "[pigeon]", "at transports[0]: value must be one of"},
		"a digest that is short": {"digest: sha256:", "digest: sha256:0", "at profiles[0].digest: "},
		"no YAML":                {"kind:", "kind: [", "it is not YAML"},
		"an anchor":              {"kind: ", "kind: &a ", "anchors (&) and aliases (*) are not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			whole := text(t, sample())
			changed := strings.Replace(whole, c.old, c.new, 1)
			if changed == whole {
				t.Fatalf("the report has no %q:\n%s", c.old, whole)
			}
			if _, err := Read(written(t, changed)); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
	for name, c := range map[string]struct{ text, says string }{
		"empty":      {"", "it is empty"},
		"a list":     {"[]", "its kind is not"},
		"too large":  {strings.Repeat("#", maxSize+1), "which no conformance report has"},
		"too deep":   {strings.Repeat("[", 40) + strings.Repeat("]", 40), "nested deeper"},
		"much wrong": {"kind: ConformanceReport\napiVersion: mcp-conform/v1\n", "missing properties"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Read(written(t, c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}

func TestContradictions(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *Report)
		want   string
	}{
		"a result that does not follow": {func(r *Report) { r.Profiles[0].Result = verdict.ProfilePassed }, "the profile sse@1 is passed, but by its counts it is failed"},
		"an incomplete run that passed": {func(r *Report) {
			r.Incomplete, r.Profiles[0].Result, r.Findings = "interrupted", verdict.ProfilePassed, nil
			r.Profiles[0].Core.Kept, r.Profiles[0].Core.Broken = r.Profiles[0].Core.Kept+1, 0
		}, "the profile sse@1 is passed, but by its counts it is incomplete"},
		"fewer requirements":     {func(r *Report) { r.Profiles[0].Core.Kept-- }, "the profile sse@1 has 5 core requirements, but 4 are counted"},
		"broken, and no finding": {func(r *Report) { r.Findings = nil }, "the profile sse@1 counts core requirements that are broken: 1, but the findings list 0"},
		"a finding that is counted as kept": {func(r *Report) {
			p := &r.Profiles[0]
			p.Core.Kept, p.Core.Broken, p.Result = p.Core.Kept+1, 0, verdict.ProfilePassed
		}, "the profile sse@1 counts core requirements that are broken: 0, but the findings list 1"},
		"a finding with another verdict": {func(r *Report) { r.Findings[0].Verdict = "flaky" }, "the profile sse@1 counts core requirements that are broken: 1, but the findings list 0\n" +
			"the profile sse@1 counts core requirements that are flaky: 0, but the findings list 1"},
		"a finding outside of the profile": {func(r *Report) {
			r.Findings = append(r.Findings, Finding{Requirement: "ping.responds", Verdict: "broken", Revisions: r.Revisions})
		}, ""},
		"a finding that the profile counts with its most severe verdict": {func(r *Report) {
			r.Findings = append(r.Findings, Finding{Requirement: "sse.origin-validated", Verdict: "flaky", Revisions: r.Revisions})
		}, ""},
		"a requirement that does not exist": {func(r *Report) {
			r.Findings = append(r.Findings, Finding{Requirement: "sse.entpoint", Verdict: "broken", Revisions: r.Revisions})
		}, "there is no requirement sse.entpoint"},
		"a requirement of another catalogue": {func(r *Report) {
			r.Tool.Catalogue = Digest(strings.Repeat("0", 64))
			r.Findings = append(r.Findings, Finding{Requirement: "sse.entpoint", Verdict: "broken", Revisions: r.Revisions})
		}, ""},
		"a revision that was not judged": {func(r *Report) { r.Findings[0].Revisions = append(r.Findings[0].Revisions, spec.V20250618) },
			"the finding on sse.origin-validated is in revision 2025-06-18, which was not judged"},
		"a transport that the profile is not about": {func(r *Report) {
			r.Transports, r.Findings = []spec.Transport{spec.Stdio}, nil
			p := &r.Profiles[0]
			p.Core.Kept, p.Core.Broken, p.Result = p.Core.Kept+1, 0, verdict.ProfilePassed
		}, "the profile sse@1 counts core requirements that do not apply: 0, but no judged revision and transport has 5\n" +
			"the profile sse@1 counts extended requirements that do not apply: 0, but no judged revision and transport has 8"},
		"a month that does not exist": {func(r *Report) { r.Date = "2026-13-02T03:04:05Z" }, "2026-13-02T03:04:05Z is not a date"},
		"another list":                {func(r *Report) { r.Profiles[0].Digest = Digest(strings.Repeat("0", 64)) }, "the digest of the profile sse@1 differs: its list of requirements is not the published one"},
		"a profile twice":             {func(r *Report) { r.Profiles = append(r.Profiles, r.Profiles[0]) }, "the profile sse@1 occurs twice"},
		"a newer profile":             {func(r *Report) { r.Profiles[0].Name, r.Profiles[0].Digest = "sse@99", Digest(strings.Repeat("0", 64)) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := sample()
			c.change(r)
			if got := strings.Join(r.Contradictions(), "\n"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *Report)
		want   string
	}{
		"no organization":        {func(r *Report) { r.Implementation.Organization = "" }, "implementation.organization is missing"},
		"no contact":             {func(r *Report) { r.Implementation.Contact = nil }, "implementation.contact is missing"},
		"an incomplete run":      {func(r *Report) { r.Incomplete = "interrupted" }, "the run is incomplete: interrupted"},
		"a newer profile":        {func(r *Report) { r.Profiles[0].Name = "sse@99" }, "the profile sse@99 can't be checked"},
		"no profile":             {func(r *Report) { r.Profiles = nil }, "no profile was judged"},
		"an unconfirmed finding": {func(r *Report) { r.Findings[0].Verdict = "unconfirmed" }, "the finding on sse.origin-validated is unconfirmed"},
		"a failure of the tool":  {func(r *Report) { r.Findings[0].Verdict = "harness error" }, "the finding on sse.origin-validated is harness error"},
		"skipped requirements": {func(r *Report) {
			r.Profiles[0].Core.Skipped, r.Profiles[0].Result = 3, verdict.ProfileIncomplete
		}, "3 requirements were skipped"},
		"blocked requirements": {func(r *Report) {
			r.Profiles[0].Core.NotJudged, r.Profiles[0].Result = 3, verdict.ProfileIncomplete
		}, "not all of its requirements could be judged"},
	} {
		t.Run(name, func(t *testing.T) {
			r := sample()
			c.change(r)
			if got := r.Gaps(); len(got) != 1 || !strings.Contains(got[0], c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
