package sweep

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/skip"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestLabelsOfNarrowTables checks that on a narrow screen, where a row is not a row of a table, the
// numbers have the names of their columns.
func TestLabelsOfNarrowTables(t *testing.T) {
	t.Parallel()
	for i, name := range columns {
		label := fmt.Sprintf("#servers td:nth-child(%d)::before { content: %q; }", i+1, name+": ")
		isPlain := name == "server" || name == "outcome" || name == "problem"
		if strings.Contains(indexStyle, label) == isPlain {
			t.Errorf("the style has no %s, or has one for a plain column", label)
		}
	}
	for i, head := range regexp.MustCompile(`<th scope="col">([^<]+)</th>`).FindAllStringSubmatch(indexText, 7) {
		label := fmt.Sprintf("#findings td:nth-child(%d)::before { content: %q; }", i+1, head[1]+": ")
		if strings.Contains(indexStyle, label) != (i >= 3 && i <= 5) {
			t.Errorf("the style has no %s, or has one for a plain column", label)
		}
	}
}

// TestOneServer checks that the page of one server does not speak of several.
func TestOneServer(t *testing.T) {
	t.Parallel()
	for want, names := range map[string][]string{"1 MCP server": {"a"}, "2 MCP servers": {"a", "b"}} {
		w := &Sweep{}
		for _, name := range names {
			w.Servers = append(w.Servers, &Result{Name: name, Outcome: Kept})
		}
		w.summarise()
		var b strings.Builder
		if err := w.writePage(&b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "<h1>"+want+"</h1>") {
			t.Errorf("the page has no heading %q", want)
		}
	}
}

// TestPageInBrowser opens pages of few and of many servers in Chromium, sorts and filters them, and
// checks that narrow windows show all of them.
func TestPageInBrowser(t *testing.T) {
	folder := filepath.FromSlash("../../fixtures/report-readers")
	if _, err := os.Stat(filepath.Join(folder, "node_modules", ".installed")); err != nil {
		skip.Missing(t, "sweep.mjs", "run fixtures/report-readers/install.sh")
	}
	name := "chromium"
	if other := os.Getenv("CHROMIUM"); other != "" {
		name = other
	}
	chromium, err := exec.LookPath(name)
	if err != nil {
		skip.Missing(t, "the page of a sweep in a browser", err.Error())
	}
	for _, servers := range []int{30, 10_000} {
		w := &Sweep{Version: "1.0.0"}
		for i := range servers {
			r := &Result{
				Name: fmt.Sprintf("io.github.user-%d/server-%d", i%97, i), Folder: fmt.Sprintf("io.github.user-%d~server-%d", i%97, i), Outcome: outcomes[i%len(outcomes)],
				Server: verdict.Server{Name: fmt.Sprint("Server ", i%311), Version: "1.2.3"}, SDK: fmt.Sprint("some-sdk 1.", i%7), Revisions: []spec.Revision{spec.V20250618},
				Counts: Counts{Broken: i % 5, Warnings: i % 11}, Seconds: float64(i%600) / 7, Reports: []string{"report.html"},
			}
			if r.Outcome.Failed() {
				r.Problem = fmt.Sprintf("the server ended before it answered initialize: exit status %d", i%13)
			}
			w.Servers = append(w.Servers, r)
		}
		w.summarise()
		path := filepath.Join(t.TempDir(), indexFile)
		if err := writeAtomically(path, false, w.writePage); err != nil {
			t.Fatal(err)
		}
		script, err := filepath.Abs(filepath.Join(folder, "sweep.mjs"))
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "node", script, chromium, path).CombinedOutput()
		if err != nil {
			t.Errorf("%d servers: %v\n%s", servers, err, out[:min(len(out), 8000)])
		}
		t.Logf("%d servers:\n%s", servers, out)
	}
}
