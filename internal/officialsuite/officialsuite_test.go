package officialsuite_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/officialsuite"
	"github.com/mcp-conform/mcp-conform/internal/skip"
)

// fixtureFree are the scenarios that can be run on any server.
var fixtureFree = []string{
	"dns-rebinding-protection", "logging-set-level", "ping", "prompts-list", "resources-list",
	"server-initialize", "server-session-lifecycle", "server-sse-multiple-streams", "tools-list",
}

func TestReferenceServerPassesTheOfficialSuite(t *testing.T) {
	suite := find(t)
	program := build(t)
	t.Run("the scenarios that need no fixtures", func(t *testing.T) {
		checks := run(t, suite, serve(t, program), officialsuite.Revision)
		got := map[string]bool{}
		for _, c := range checks {
			if slices.Contains(fixtureFree, c.Scenario) {
				got[c.Scenario] = true
				passes(t, c)
			}
		}
		for _, scenario := range fixtureFree {
			if !got[scenario] {
				t.Errorf("%s was not run", scenario)
			}
		}
	})
	t.Run("all scenarios", func(t *testing.T) {
		checks := run(t, suite, serve(t, program, "--fixtures"), officialsuite.Revision)
		scenarios := map[string]bool{}
		for _, c := range checks {
			scenarios[c.Scenario] = true
			passes(t, c)
		}
		if len(scenarios) != 33 { // 30 that count, and 3 that the suite does not score yet
			t.Errorf("%d scenarios were run", len(scenarios))
		}
	})
}

// withoutState is a check whose client repeats a request without the requestState that the
// server gave it, which a client must not do. The reference server then asks again, and the
// check warns.
const withoutState = "sep-2322-ignore-unexpected-params"

// TestReferenceServerPassesTheOfficialSuiteIn20260728 leaves out tasks, an extension that
// the reference server does not have in this revision.
func TestReferenceServerPassesTheOfficialSuiteIn20260728(t *testing.T) {
	suite := find(t)
	checks := run(t, suite, serve(t, build(t), "--fixtures"), officialsuite.Current)
	scenarios := map[string]bool{}
	for _, c := range checks {
		if strings.HasPrefix(c.Scenario, "tasks-") {
			continue
		}
		scenarios[c.Scenario] = true
		if c.ID == withoutState && c.Status == "WARNING" {
			continue
		}
		passes(t, c)
	}
	if len(scenarios) < 40 {
		t.Errorf("%d scenarios were run", len(scenarios))
	}
}

func passes(t *testing.T, c officialsuite.Check) {
	t.Helper()
	if c.Status != "SUCCESS" && c.Status != "INFO" {
		t.Errorf("%s: %s %s: %s", c.Scenario, c.ID, c.Status, c.Message)
	}
}

// find returns the suite, or skips the test with the reason.
func find(t *testing.T) *officialsuite.Suite {
	t.Helper()
	skip.UnlessRequired(t, "official suite")
	folder, err := filepath.Abs("../../fixtures/official-suite")
	if err != nil {
		t.Fatal(err)
	}
	suite, err := officialsuite.Find(folder)
	if err != nil {
		skip.Missing(t, "official suite", err.Error())
	}
	return suite
}

// build returns the program that MCP_CONFORM_PROGRAM names, or builds it.
func build(t *testing.T) string {
	t.Helper()
	if program := os.Getenv("MCP_CONFORM_PROGRAM"); program != "" {
		return program
	}
	program := filepath.Join(t.TempDir(), "mcp-conform")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	c := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/mcp-conform")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// serve starts the reference server and returns its URL.
func serve(t *testing.T, program string, more ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, program, append([]string{"serve", "--http", "127.0.0.1:0"}, more...)...)
	said, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = c.Wait() })
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, address, _ := strings.Cut(strings.TrimSpace(line), "http://")
	return "http://" + address
}

func run(t *testing.T, suite *officialsuite.Suite, url, revision string) []officialsuite.Check {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	results := t.TempDir()
	out, err := suite.Command(ctx, url, results, "--requirements", revision).CombinedOutput()
	checks, failed := officialsuite.Checks(results)
	if failed != nil {
		t.Fatal(fmt.Errorf("%w (%w)\n%s", failed, err, out))
	}
	return checks
}
