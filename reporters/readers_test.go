package reporters

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/skip"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// readerScript returns the path of a script in fixtures/report-readers, which reads a
// report with a third-party tool.
func readerScript(t *testing.T, script string) (node, path string) {
	t.Helper()
	folder, err := filepath.Abs(filepath.FromSlash("../fixtures/report-readers"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "node_modules", ".installed")); err != nil {
		skip.Missing(t, script, "run fixtures/report-readers/install.sh")
	}
	node, err = exec.LookPath("node")
	if err != nil {
		skip.Missing(t, script, err.Error())
	}
	return node, filepath.Join(folder, script)
}

// saveReport writes a report to a new file.
func saveReport(t *testing.T, w Writer, r *verdict.Report, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, write(t, w, r), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// read runs the script on the file and decodes its output.
func read(t *testing.T, script, file string, into any) {
	t.Helper()
	node, path := readerScript(t, script)
	var errors bytes.Buffer
	cmd := exec.CommandContext(t.Context(), node, path, file)
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, errors.Bytes())
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatalf("%s says %q: %v", script, head(string(out), 500), err)
	}
}

func TestTAPIsReadByAParser(t *testing.T) {
	type point struct {
		Name        string
		OK          bool
		Skip, Todo  any
		Diagnostics map[string]any
	}
	for _, s := range append(samples[:len(samples):len(samples)], sample{"empty", func() *verdict.Report { return &verdict.Report{} }}) {
		t.Run(s.name, func(t *testing.T) {
			r := s.build()
			var got struct {
				Version, Subtests int
				Points            []point
				Strange, Failures []string
				Bailout, OK       bool
			}
			read(t, "tap.mjs", saveReport(t, TAP, r, "report.tap"), &got)
			if got.Version != 14 || got.Subtests != len(r.Revisions) || len(got.Strange) > 0 || got.Bailout {
				t.Errorf("version %d, %d subtests, strange lines %q, bail out %t", got.Version, got.Subtests, got.Strange, got.Bailout)
			}
			want := len(r.Verdicts) + len(r.Revisions)
			if r.Incomplete != "" {
				want++
			}
			if len(got.Points) != want {
				t.Errorf("%d points; want %d", len(got.Points), want)
			}
			if fails := overallOf(r) == overallBroken || r.Incomplete != ""; got.OK == fails {
				t.Errorf("the parser's ok is %t", got.OK)
			}
			for _, failure := range got.Failures {
				if s.name != "empty" && failure != "base.response-id-echo" && failure != "tools.list.result-schema" && failure != "run.complete" && !strings.HasPrefix(failure, "20") {
					t.Errorf("the parser rejects %q", failure)
				}
			}
		})
	}
}

func TestTAPSaysWhatTheVerdictsSay(t *testing.T) {
	var got struct {
		Points []struct {
			Name        string
			OK          bool
			Skip, Todo  string
			Diagnostics map[string]string
		}
	}
	read(t, "tap.mjs", saveReport(t, TAP, reportWithEachOutcome(), "report.tap"), &got)
	type shape struct {
		OK         bool
		Skip, Todo string
		Seen       string
	}
	points := map[string]shape{}
	for _, p := range got.Points {
		points[p.Name] = shape{p.OK, p.Skip, p.Todo, p.Diagnostics["seen"]}
	}
	want := map[string]shape{
		"base.response-id-echo":           {Seen: `the string "3"`},
		"base.json-rpc-2.0":               {OK: true},
		"lifecycle.initialize-first":      {Todo: "flaky: recurred in 0 of 2 retries", Seen: "roots/list"},
		"lifecycle.instructions-optional": {OK: true, Seen: `""`},
		"stdio.exit-on-sigterm":           {OK: true, Seen: "it ran on until SIGKILL"},
		"stdio.responses-before-exit":     {OK: true, Skip: "blocked: by F3b: the server did not end"},
		"stdio.stderr-logging":            {OK: true, Skip: "not observed: the server wrote nothing to stderr"},
		"tools.list.answered":             {OK: true, Skip: "not applicable: the server does not declare tools"},
		"tools.list.result-schema":        {},
		"2025-06-18":                      {}, "2025-11-25": {},
	}
	if diff := cmp.Diff(want, points); diff != "" {
		t.Error(diff)
	}
}

func TestJUnitIsReadByAParser(t *testing.T) {
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			r := s.build()
			var got struct {
				Tests, Failures, Errors int
				Cases                   []struct {
					Name                   string
					Failed, Wrong, Skipped bool
					Message                string
				}
			}
			read(t, "junit.mjs", saveReport(t, JUnit, r, "junit.xml"), &got)
			failed, wrong := 0, 0
			for _, c := range got.Cases {
				if c.Failed {
					failed++
				}
				if c.Wrong {
					wrong++
				}
			}
			if got.Tests != len(got.Cases) || len(got.Cases) < len(r.Verdicts) || failed != got.Failures || wrong != got.Errors {
				t.Errorf("%d tests, %d cases, failed %d and %d, errors %d and %d", got.Tests, len(got.Cases), got.Failures, failed, got.Errors, wrong)
			}
		})
	}
}

// TestHTMLInABrowser opens pages from disk in Chromium and uses them as people
// do.
func TestHTMLInABrowser(t *testing.T) {
	node, script := readerScript(t, "browser.mjs")
	name := "chromium"
	if other := os.Getenv("CHROMIUM"); other != "" {
		name = other
	}
	chromium, err := exec.LookPath(name)
	if err != nil {
		skip.Missing(t, "HTML in a browser", err.Error())
	}
	args := []string{script, chromium}
	for _, s := range append(samples[:len(samples):len(samples)], sample{"caused", withCauses}, sample{"many", manyFindings}, sample{"empty", func() *verdict.Report { return &verdict.Report{} }}) {
		args = append(args, saveReport(t, HTML, s.build(), s.name+".html"))
	}
	out, err := exec.CommandContext(t.Context(), node, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, head(string(out), 8000))
	}
	t.Logf("%s", out)
}
