package reporters

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcp-conform/mcp-conform/internal/conformance"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type sample struct {
	name  string
	build func() *verdict.Report
}

var samples = []sample{{"every", reportWithEachOutcome}, {"clean", cleanReport}, {"hostile", hostileReport}}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs; go test ./reporters -update rewrites it (-want +got):\n%s", file, diff)
	}
}

func write(t *testing.T, w Writer, r *verdict.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := w(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFilesGolden(t *testing.T) {
	for _, s := range samples {
		if s.name == "hostile" {
			continue // too big for a golden file; other tests check its properties
		}
		golden(t, s.name+".json", write(t, JSON, s.build()))
		golden(t, s.name+".xml", write(t, JUnit, s.build()))
		golden(t, s.name+".sarif", write(t, SARIF, s.build()))
		golden(t, s.name+".tap", write(t, TAP, s.build()))
		// The digest changes with every word of the catalogue.
		published := bytes.ReplaceAll(write(t, Conformance, s.build()), []byte(conformance.Digest(spec.CatalogueDigest())), []byte("sha256:0"))
		golden(t, s.name+"-conformance.yaml", published)
		golden(t, s.name+".md", write(t, Markdown, s.build()))
		golden(t, s.name+".github", write(t, GitHub, s.build()))
		golden(t, s.name+".svg", write(t, Badge, s.build()))
		golden(t, s.name+"-badge.json", write(t, BadgeJSON, s.build()))
	}
}

func TestNames(t *testing.T) {
	if diff := cmp.Diff([]string{"badge", "conformance", "github", "html", "json", "junit", "markdown", "outputs", "sarif", "tap"}, Names()); diff != "" {
		t.Error(diff)
	}
	for _, name := range Names() {
		if _, ok := ByName(name); !ok {
			t.Errorf("%s is named and not found", name)
		}
	}
	if _, ok := ByName("nothing"); ok {
		t.Error("a format that does not exist is found")
	}
}

func TestEqualReportsGiveEqualBytes(t *testing.T) {
	for _, s := range samples {
		later := s.build()
		later.Stats.Started = later.Stats.Started.Add(time.Hour)
		for _, name := range Names() {
			w, _ := ByName(name)
			if !bytes.Equal(write(t, w, s.build()), write(t, w, s.build())) {
				t.Errorf("%s %s: two equal reports differ", name, s.name)
			}
			a, b := withoutStats(write(t, w, s.build())), withoutStats(write(t, w, later))
			if !bytes.Equal(a, b) {
				t.Errorf("%s %s: reports differ outside stats", name, s.name)
			}
		}
	}
}

// statsOf matches the parts of documents that contain times and durations.
var statsOf = regexp.MustCompile(`(?s)\n  "stats": \{.*?\n  \}|<p id="stats">.*?</p>|"(start|end)TimeUtc": "[^"]*",?|<sub>.*?</sub>|\ndate: "[^"]*"`)

func withoutStats(doc []byte) []byte { return statsOf.ReplaceAll(doc, nil) }

func TestWritersLeaveTheReportAlone(t *testing.T) {
	for _, name := range Names() {
		w, _ := ByName(name)
		r := hostileReport()
		write(t, w, r)
		if diff := cmp.Diff(hostileReport(), r); diff != "" {
			t.Errorf("%s altered the report:\n%s", name, diff)
		}
	}
}

func TestTheFileNameChoosesTheBadge(t *testing.T) {
	for file, want := range map[string]string{"badge.svg": "<svg", "badge.json": "{\n", "BADGE.JSON": "{\n", "": "<svg"} {
		w, ok := ForFile("badge", file)
		if doc := write(t, w, reportWithEachOutcome()); !ok || !strings.HasPrefix(string(doc), want) {
			t.Errorf("%q begins with %q", file, head(string(doc), 10))
		}
	}
	if _, ok := ForFile("nothing", "badge.json"); ok {
		t.Error("a format that does not exist is found")
	}
}

func TestHostileFilesAreBoundedAndInert(t *testing.T) {
	for _, name := range Names() {
		w, _ := ByName(name)
		doc := write(t, w, hostileReport())
		if len(doc) > 8<<20 {
			t.Errorf("%s takes %d bytes", name, len(doc))
		}
		if r, at := firstInvisible(strings.ReplaceAll(string(doc), "\n", "")); at >= 0 {
			t.Errorf("%s has %U at %d", name, r, at)
		}
		if !bytes.HasSuffix(doc, []byte("\n")) {
			t.Errorf("%s does not end with a newline", name)
		}
	}
}

func TestJSONReadsBack(t *testing.T) {
	doc := write(t, JSON, hostileReport())
	var back struct {
		Format   int
		Verdicts []map[string]any
		Findings []struct {
			Permitted string
			Replay    []string
			Evidence  []struct{ Text, Direction string }
		}
	}
	if err := json.Unmarshal(doc, &back); err != nil {
		t.Fatal(err)
	}
	if back.Format != JSONFormat {
		t.Errorf("format is %d, want %d", back.Format, JSONFormat)
	}
	want := strings.ToValidUTF8(attack, "\ufffd")
	want = strings.Replace(want, "\ufffd \U000e0041", "\ufffd\ufffd\ufffd\ufffd\ufffd \U000e0041", 1) // one for each byte
	f := back.Findings[0]
	if diff := cmp.Diff(want, f.Replay[len(f.Replay)-1]); diff != "" {
		t.Errorf("a replay argument did not survive:\n%s", diff)
	}
	for _, member := range []string{"requirement", "verdict", "revision", "transport"} {
		if _, ok := back.Verdicts[0][member]; !ok {
			t.Errorf("a verdict lacks %q", member)
		}
	}
	if bytes.Contains(doc, []byte(`\u003c`)) {
		t.Error("the document has HTML escapes")
	}
	if bytes.Contains(write(t, JSON, &verdict.Report{}), []byte("null")) {
		t.Error("an empty report has a null")
	}
}

func TestJUnitSaysWhatTheVerdictsSay(t *testing.T) {
	var doc junitSuites
	if err := xml.Unmarshal(write(t, JUnit, reportWithEachOutcome()), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Tests != 18 || doc.Failures != 2 || doc.Errors != 2 {
		t.Errorf("tests, failures, errors are %d, %d, %d; want 18, 2, 2", doc.Tests, doc.Failures, doc.Errors)
	}
	type shape struct{ Failure, Error, Skipped, Output bool }
	want := map[string]shape{
		"base.response-id-echo":           {Failure: true},
		"base.json-rpc-2.0":               {},
		"lifecycle.initialize-first":      {Output: true},
		"lifecycle.instructions-optional": {Output: true},
		"stdio.exit-on-sigterm":           {Output: true},
		"stdio.responses-before-exit":     {Skipped: true},
		"stdio.stderr-logging":            {Skipped: true},
		"tools.list.answered":             {Skipped: true},
		"tools.list.result-schema":        {Error: true},
	}
	got := map[string]shape{}
	for _, s := range doc.Suites {
		for _, c := range s.Cases {
			got[c.Name] = shape{c.Failure != nil, c.Error != nil, c.Skipped != nil, c.Output != ""}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestJUnitValidates(t *testing.T) {
	schema := os.Getenv("MCP_JUNIT_XSD")
	if schema == "" {
		t.Skip("MCP_JUNIT_XSD names no schema")
	}
	lint, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skipf("xmllint is not installed: %v", err)
	}
	samples := append(samples[:len(samples):len(samples)], sample{"empty", func() *verdict.Report { return &verdict.Report{} }})
	for _, s := range samples {
		file := filepath.Join(t.TempDir(), "junit.xml")
		if err := os.WriteFile(file, write(t, JUnit, s.build()), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), lint, "--nonet", "--noout", "--schema", schema, file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", s.name, err, head(string(out), 2000))
		}
	}
}

func TestSARIFValidates(t *testing.T) {
	file := os.Getenv("MCP_SARIF_SCHEMA")
	if file == "" {
		t.Skip("MCP_SARIF_SCHEMA names no schema")
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(samples[:len(samples):len(samples)], sample{"many", manyFindings}, sample{"empty", func() *verdict.Report { return &verdict.Report{} }}) {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(write(t, SARIF, s.build())))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	}
	if schema.Validate(map[string]any{"version": "2.0.0"}) == nil {
		t.Error("the schema permits anything")
	}
}

// TestSARIFHasWhatCodeScanningDemands checks two demands of GitHub: it rejects
// a document with a result that has no file, and it cannot track a result whose
// rule or fingerprint changes.
func TestSARIFHasWhatCodeScanningDemands(t *testing.T) {
	results := func(r *verdict.Report) map[string]string {
		var log sarifLog
		if err := json.Unmarshal(write(t, SARIF, r), &log); err != nil {
			t.Fatal(err)
		}
		run := log.Runs[0]
		out := map[string]string{}
		for _, x := range run.Results {
			if run.Tool.Driver.Rules[x.RuleIndex].ID != x.RuleID {
				t.Errorf("the rule of %s is %s", x.RuleID, run.Tool.Driver.Rules[x.RuleIndex].ID)
			}
			at := x.Locations[0].Physical
			if at.Artifact.URI == "" || strings.HasPrefix(at.Artifact.URI, "/") || at.Region.StartLine != 1 {
				t.Errorf("%s is at %+v", x.RuleID, at)
			}
			print := x.Fingerprints["primaryLocationLineHash"]
			if _, twice := out[print]; twice || print == "" {
				t.Errorf("%s has the fingerprint %q of another", x.RuleID, print)
			}
			out[print] = x.RuleID
		}
		return out
	}
	before := reportWithEachOutcome()
	after := reportWithEachOutcome()
	after.Stats.Started = after.Stats.Started.Add(time.Hour)
	after.Seed++
	for i := range after.Findings {
		after.Findings[i].Seen, after.Findings[i].ID = "something else", "X"+after.Findings[i].ID
		after.Findings[i].Evidence = nil
	}
	if diff := cmp.Diff(results(before), results(after)); diff != "" {
		t.Errorf("the fingerprints of the same findings differ:\n%s", diff)
	}
	results(manyFindings())
}

func TestWritersReturnTheErrorOfTheStream(t *testing.T) {
	full := errors.New("no space left")
	for _, name := range Names() {
		w, _ := ByName(name)
		if err := w(failing{full}, reportWithEachOutcome()); !errors.Is(err, full) {
			t.Errorf("%s returns %v", name, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

var _ io.Writer = failing{}
