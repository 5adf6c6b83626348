package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/reporters"
)

func oneKept() *verdict.Report {
	return &verdict.Report{
		Transport: spec.Stdio, Revisions: []spec.Revision{spec.V20251125},
		Verdicts: []verdict.Verdict{{Requirement: "ping.responds", Area: "ping", Level: spec.Must, Revision: spec.V20251125, Outcome: verdict.Kept}},
	}
}

func TestGitHubGetsAnnotationsAndASummary(t *testing.T) {
	summary := filepath.Join(t.TempDir(), "summary.md")
	if err := os.WriteFile(summary, []byte("of a step before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		environ []string
		want    bool
	}{
		{"in an action", []string{"GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY=" + summary}, true},
		{"elsewhere", []string{"GITHUB_STEP_SUMMARY=" + summary}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			a := &app{World: World{Out: &out, Environ: c.environ}}
			files, err := a.parseReports([]string{"github"}, reportNames(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if err := a.writeReports(files, oneKept()); err != nil {
				t.Fatal(err)
			}
			if got := strings.HasPrefix(out.String(), "::notice "); got != c.want {
				t.Errorf("the log has %q", out.String())
			}
		})
	}
	text, err := os.ReadFile(summary)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), "of a step before\n## ✅") || strings.Count(string(text), "## ") != 1 {
		t.Errorf("the summary is %q", text)
	}
}

func TestEveryReportHasAFile(t *testing.T) {
	folder := t.TempDir()
	a := &app{}
	flags := []string{"badge=" + filepath.Join(folder, "shields.json"), "github=" + filepath.Join(folder, "commands.txt")}
	flags = append(flags, reporters.Names()...)
	files, err := a.parseReports(flags, reportNames(), folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.writeReports(files, oneKept()); err != nil {
		t.Fatal(err)
	}
	for file, begins := range map[string]string{
		"badge.svg": "<svg", "shields.json": "{\n  \"schemaVersion\"", "commands.txt": "::notice", "report.html": "<!doctype html>", "report.json": "{", "junit.xml": "<?xml",
		"report.md": "## ", "report.sarif": "{", "report.tap": "TAP version 14",
	} {
		if text, err := os.ReadFile(filepath.Join(folder, file)); err != nil || !strings.HasPrefix(string(text), begins) {
			t.Errorf("%s: %v, it begins with %.20q", file, err, text)
		}
	}
}

func TestTheFileThatStandsForTheServer(t *testing.T) {
	root := t.TempDir()
	inner := filepath.Join(root, "packages", "server")
	for _, folder := range []string{inner, filepath.Join(root, ".git")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(inner)
	if got := artifactPath(); got != "" {
		t.Errorf("without files it is %q", got)
	}
	for _, c := range []struct{ file, want string }{
		{"README.md", "packages/server/README.md"}, {"package.json", "packages/server/package.json"},
		{"go.mod", "packages/server/package.json"}, {"mcp-conform.yaml", "packages/server/mcp-conform.yaml"},
	} {
		if err := os.WriteFile(filepath.Join(inner, c.file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := artifactPath(); got != c.want {
			t.Errorf("with %s it is %q", c.file, got)
		}
	}
}
