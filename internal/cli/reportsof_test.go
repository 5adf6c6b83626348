package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/conformance"
	"github.com/mcp-conform/mcp-conform/reporters"
)

// reportsOf returns the paths of the conformance reports in docs/reports-of.
func reportsOf(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "docs", "reports-of", "*", "conformance.yaml"))
	if err != nil || len(paths) < 3 {
		t.Fatalf("only %d conformance reports are in docs/reports-of: %v", len(paths), err)
	}
	return paths
}

// TestReportsOfRealServersAreComplete checks that mcp-conform report check finds nothing wrong or
// missing in the reports of reportsOf.
func TestReportsOfRealServersAreComplete(t *testing.T) {
	for _, path := range reportsOf(t) {
		var out bytes.Buffer
		if code := invoke([]string{"report", "check", path}, World{Out: &out, Err: &out}); code != ExitKept {
			t.Errorf("%s: exit code %d\n%s", path, code, out.String())
		}
	}
}

const reportsOfHead = "# Reports of real servers\n" + `
Written by ` + "`docs/reports-of/write PATH-OF-MCP-CONFORM`" + `; do not edit it.

What runs of mcp-conform show about three pinned servers of [fixtures/servers](../../fixtures/servers/README.md),
as [conformance reports](../reports.md#conformance-report): each folder has the configuration of the
run and its report. They are examples of evidence, and say nothing about other servers or versions.

`

// writeReportsOf writes the page that compares the reports of reportsOf.
func writeReportsOf(t *testing.T, b *strings.Builder) error {
	b.WriteString(reportsOfHead)
	var reports []*conformance.Report
	for _, path := range reportsOf(t) {
		r, err := conformance.Read(path)
		if err != nil {
			return err
		}
		reports = append(reports, r)
	}
	if err := reporters.MatrixMarkdown(b, reports); err != nil {
		return err
	}
	b.WriteString("\n| report | reproduce it |\n| :-- | :-- |\n")
	for i, path := range reportsOf(t) {
		folder := filepath.Base(filepath.Dir(path))
		b.WriteString("| [" + folder + "](" + folder + "/conformance.yaml) | `" + reports[i].Command + "` |\n")
	}
	return nil
}
