package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/skip"
	"github.com/mcp-conform/mcp-conform/internal/sweep"
)

// TestAKilledSweepGoesOn kills a sweep at random moments, and continues it with the same command.
// Nothing may be lost, left running, or left in the folder. MCP_CONFORM_KILLS sets the number of
// moments.
func TestAKilledSweepGoesOn(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("starts servers, and reads /proc")
	}
	skip.Slowest(t)
	t.Parallel()
	kills := 2
	if text := os.Getenv("MCP_CONFORM_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	list := "servers:\n"
	for i := range 4 {
		fault := []string{"", ", --fault, completion.answered/unknown-method"}[i%2]
		list += fmt.Sprintf("- {name: s%d, revision: 2025-11-25, profile: completion@1, command: [mcp-conform, serve%s]}\n", i, fault)
	}
	if err := os.WriteFile(filepath.Join(dir, "servers.yaml"), []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func(out string) (*exec.Cmd, *bytes.Buffer) {
		c := exec.CommandContext(t.Context(), "mcp-conform", "sweep", "--jobs", "2", "--out", out, "servers.yaml")
		b := &bytes.Buffer{}
		c.Dir, c.Stdout, c.Stderr = dir, b, b
		return c, b
	}
	finished := func(out string) string {
		c, b := start(out)
		if err := c.Run(); err != nil {
			t.Fatal(err, b)
		}
		text, err := os.ReadFile(filepath.Join(dir, out, "sweep.json"))
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`"seconds": [0-9.]+`).ReplaceAllString(string(text), "")
	}
	began := time.Now()
	want := finished("whole")
	whole := time.Since(began)
	random := rand.New(rand.NewPCG(1, uint64(kills)))
	for n := range kills {
		out := fmt.Sprintf("killed-%d", n)
		c, b := start(out)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		moment := time.Duration(random.Int64N(int64(whole)))
		<-time.After(moment)
		_ = c.Process.Kill()
		_ = c.Wait()
		said := regexp.MustCompile(`(?m)^\[.*\] \w+ +s\d `).FindAllString(b.String(), -1)
		results, _ := filepath.Glob(filepath.Join(dir, out, "servers", "s*", "result.json"))
		if len(results) < len(said) {
			t.Errorf("killed after %v, %d servers were said to be finished, and %d have a result", moment, len(said), len(results))
		}
		awaitNone(t, filepath.Join(dir, out))
		if got := finished(out); got != want {
			t.Errorf("killed after %v, and gone on, sweep.json is\n%s\nand not\n%s", moment, got, want)
		}
		left, err := filepath.Glob(filepath.Join(dir, out, "servers", ".*"))
		if entries, wrong := os.ReadDir(filepath.Join(dir, out)); err != nil || wrong != nil || len(entries) != 3 || len(left) > 0 {
			t.Errorf("killed after %v, the folder has %v and %v", moment, entries, left)
		}
	}
}

// TestARunEndsWithItsSweep checks that a run of a sweep ends when its stdin does, with a
// server that never responds.
func TestARunEndsWithItsSweep(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("starts servers")
	}
	t.Parallel()
	c := exec.CommandContext(t.Context(), "mcp-conform", "run", "--no-config", "--", "sleep", "1000")
	c.Env = append(os.Environ(), "MCP_CONFORM_ENDS_WITH_STDIN=1")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	in, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err == nil {
		err = in.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_ = c.Wait() // the exit code is checked
	if code := c.ProcessState.ExitCode(); code != ExitUnreachable || time.Since(began) > 30*time.Second {
		t.Errorf("the run ended after %v with %d: %s", time.Since(began), code, out.String())
	}
}

// TestARunHandsOverThePause checks that a run leaves the pause that the host of its server demands to
// its sweep.
func TestARunHandsOverThePause(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "handover")
	c := exec.CommandContext(t.Context(), "mcp-conform", "run", "--no-config", server.URL)
	c.Env = append(os.Environ(), sweep.HandoverVariable+"="+path)
	began := time.Now()
	out, _ := c.CombinedOutput() // the exit code is checked
	if code := c.ProcessState.ExitCode(); code != ExitUnreachable {
		t.Fatalf("%d: %s", code, out)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var h sweep.Handover
	err = json.Unmarshal(text, &h)
	if end := h.PauseEnd; err != nil || end.Before(began.Add(time.Hour)) || end.After(time.Now().Add(time.Hour)) || h.Quote != "" {
		t.Errorf("the handover is %s, %v", text, err)
	}
}

// awaitNone waits until no process has the path in its environment or command line.
func awaitNone(t *testing.T, path string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		found := ""
		for _, pattern := range []string{"/proc/[0-9]*/environ", "/proc/[0-9]*/cmdline"} {
			files, _ := filepath.Glob(pattern)
			for _, file := range files {
				if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), path+"/") {
					found = file
				}
			}
		}
		if found == "" {
			return
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(filepath.Join(filepath.Dir(found), "cmdline"))
			t.Fatalf("a process is left: %s: %q", found, text)
		}
		<-time.After(10 * time.Millisecond)
	}
}
