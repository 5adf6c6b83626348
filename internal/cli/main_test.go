package cli

import (
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcp-conform/mcp-conform/internal/oddservers"
	"github.com/mcp-conform/mcp-conform/internal/skip"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/internal/transport/started"
)

// TestMain lets the test binary act as the tool itself in scripts.
func TestMain(m *testing.M) {
	suitetest.RaiseParallelism()
	testscript.Main(m, map[string]func(){
		"mcp-conform": func() { os.Exit(Main(os.Args[1:], SystemWorld())) },
	})
}

// buildPrograms builds the other programs that tests run: exits, which checks how a command ends,
// and servers that misbehave. Their folder is one that testscript has put into PATH, and removes
// when the tests have run.
func buildPrograms(t *testing.T) {
	t.Helper()
	if err := programsBuilt(); err != nil {
		t.Fatal(err)
	}
}

var programsBuilt = sync.OnceValue(func() error {
	tool, err := exec.LookPath("mcp-conform")
	if err != nil {
		return err
	}
	folder, suffix := filepath.Dir(tool), filepath.Ext(tool)
	if out, err := exec.Command("go", "build", "-o", folder, "./exits", "../oddservers/odd").CombinedOutput(); err != nil { //nolint:gosec // the path is our own
		return fmt.Errorf("building programs: %w\n%s", err, out)
	}
	for name := range oddservers.Programs {
		if name != "odd" { // the command's own name
			if err := os.Link(filepath.Join(folder, "odd"+suffix), filepath.Join(folder, name+suffix)); err != nil {
				return err
			}
		}
	}
	return nil
})

// slowScripts and slowestScripts are the folders within a group with the scripts that take long.
const slowScripts, slowestScripts = "slow", "slowest"

func TestScripts(t *testing.T) {
	t.Parallel() // with the other slow tests, which mostly wait
	root := filepath.Join("testdata", "script")
	groups := map[string][]string{} // the scripts by their folder within root
	for _, pattern := range []string{"*/*.txtar", "*/" + slowScripts + "/*.txtar", "*/" + slowestScripts + "/*.txtar"} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil || len(found) == 0 {
			t.Fatal("no scripts ", pattern, err)
		}
		for _, script := range found {
			group, err := filepath.Rel(root, filepath.Dir(script))
			if err != nil {
				t.Fatal(err)
			}
			groups[filepath.ToSlash(group)] = append(groups[filepath.ToSlash(group)], script)
		}
	}
	buildPrograms(t)
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		scripts := groups[group]
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && group != "usage" {
				t.Skip("starts servers")
			}
			if suitetest.RaceDetector && strings.HasPrefix(group, "badinput") {
				t.Skip("is about time and memory")
			}
			switch path.Base(group) {
			case slowScripts:
				skip.Slow(t)
			case slowestScripts:
				skip.Slowest(t)
			}
			testscript.Run(t, testscript.Params{
				Files: sampled(scripts), RequireExplicitExec: true, RequireUniqueNames: true,
				Cmds: map[string]func(*testscript.TestScript, bool, []string){"again": again, "awaits": awaits},
				Setup: func(e *testscript.Env) error {
					if suitetest.RaceDetector {
						e.Setenv("EXITS_SLOW", "1") // see the program exits
					}
					return freePorts(e)
				},
			})
		})
	}
}

// sampled returns the scripts to run. With the race detector, which makes
// scripts several times slower, that is one in three.
func sampled(scripts []string) []string {
	if !suitetest.RaceDetector {
		return scripts
	}
	var out []string
	for i := 0; i < len(scripts); i += 3 {
		out = append(out, scripts[i])
	}
	return out
}

// finding matches the first line of a finding on the console, and the command
// that reproduces it.
var finding = regexp.MustCompile(`(?m)^\S ((?:BROKEN|WARNING)  \S+)(?s:.*?)^  again: (.*)$`)

// again runs the commands that the findings on stdout name. Each must reproduce
// its finding.
func again(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: again")
	}
	found := finding.FindAllStringSubmatch(ts.ReadFile("stdout"), -1)
	if len(found) == 0 {
		ts.Fatalf("stdout shows no finding")
	}
	for _, f := range found {
		_ = ts.Exec("sh", "-c", f[2]) // the exit code depends on the finding
		if out := ts.ReadFile("stdout"); !strings.Contains(out, f[1]) {
			ts.Fatalf("%s\ndoes not show %q again, but\n%s%s", f[2], f[1], out, ts.ReadFile("stderr"))
		}
	}
}

// freePorts sets P1 to P4 to ports on which no program listens.
func freePorts(e *testscript.Env) error {
	for i := range 4 {
		port, err := started.FreePort()
		if err != nil {
			return err
		}
		e.Setenv("P"+strconv.Itoa(i+1), port)
	}
	return nil
}

// awaits waits until a program listens at an address.
func awaits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: awaits ADDRESS")
	}
	for deadline := time.Now().Add(20 * time.Second); ; <-time.After(5 * time.Millisecond) {
		if conn, err := net.Dial("tcp", args[0]); err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("nothing listens at %s", args[0])
		}
	}
}
