package sweep

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/skip"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestPageInBrowser opens pages of few and of many servers in Chromium, sorts and
// filters them.
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
