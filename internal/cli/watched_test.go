package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/skip"
)

// heard is a writer that sends the text written to it to texts whenever the command waits for
// changes.
type heard struct {
	texts chan string // the output before each wait for changes
	kept  bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.kept.Write(p)
	if text := h.kept.String(); strings.HasSuffix(text, "Ctrl-C ends it\n") {
		h.kept.Reset()
		h.texts <- text
	}
	return len(p), nil
}

func (h *heard) next(t *testing.T) string {
	t.Helper()
	select {
	case text := <-h.texts:
		return text
	case <-time.After(time.Minute):
		t.Fatal("watch does not wait for a change")
		return ""
	}
}

// TestWatch builds and judges a server whenever its source changes, and ends
// with the exit code of the last verdict.
func TestWatch(t *testing.T) {
	skip.Slow(t)
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("starts servers that are scripts")
	}
	t.Parallel()
	dir := t.TempDir()
	tool := linkedTool(t)
	source, server := filepath.Join(dir, "source"), filepath.Join(dir, "server")
	write := func(words string) {
		t.Helper()
		if err := os.WriteFile(source, []byte("#!/bin/sh\nexec "+tool+" serve "+words+"\n"), 0o755); err != nil { //nolint:gosec // the file must be executable
			t.Fatal(err)
		}
	}
	write("")
	screen := &heard{texts: make(chan string, 1)}
	signals := make(chan os.Signal, 1)
	code := make(chan int, 1)
	go func() {
		code <- invoke([]string{
			"run", "--watch", "--watch-build", "cp " + source + " " + server, "--watch-path", dir, "--out", filepath.Join(dir, "out"),
			"--report", "json", "--revision", "2025-11-25", "--focus", "base.jsonrpc-2-0", server,
		}, World{Out: screen, Err: screen, Environ: os.Environ(), Signals: func() (<-chan os.Signal, func()) { return signals, func() {} }})
	}()
	expect := func(what string, wanted ...string) {
		t.Helper()
		text := screen.next(t)
		for _, w := range wanted {
			if !strings.Contains(text, w) {
				t.Errorf("%s does not show %q:\n%s", what, w, text)
			}
		}
	}
	expect("the first run", "judging ", ": no requirement broken in 2025-11-25 (1 judged, as selected)")
	write("--fault base.jsonrpc-2-0/version-1.0")
	expect("a fault", "source changed: judging again\n", "\nNEW        base.jsonrpc-2-0  broken, was kept ", "\n1 new, 0 fixed, 0 unchanged\n", "\n✗ BROKEN  base.jsonrpc-2-0 ")
	write("--fault base.jsonrpc-2-0/version-1.0 ") // a change of the source without a change of the findings
	expect("the same fault", "judging again\nUNCHANGED  base.jsonrpc-2-0  broken · 2025-11-25: ", "\n1 finding judged again after ", " s; the rest follows\n", "\n0 new, 0 fixed, 1 unchanged\n", ": 1 requirement broken ")
	if err := os.Remove(source); err != nil {
		t.Fatal(err)
	}
	expect("no source", "the build failed (exit status 1): cp ", "  | cp: ")
	write("")
	expect("the correct server", "judging again\nFIXED      base.jsonrpc-2-0  kept, was broken · 2025-11-25: ", "; the rest follows\n0 new, 1 fixed, 0 unchanged\n")
	write("--fault base.jsonrpc-2-0/version-1.0")
	expect("the fault again", "\n1 new, 0 fixed, 0 unchanged\n")
	signals <- os.Interrupt
	if got := <-code; got != ExitBroken {
		t.Errorf("the exit code is %d", got)
	}
}

func TestFilesAreWatched(t *testing.T) {
	dir := t.TempDir()
	touch := func(names ...string) {
		t.Helper()
		for _, name := range names {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	touch("src/a.go", "src/out/report.json", "node_modules/x/y.js", ".git/index", "other/one", "other/two")
	f, err := watchFiles([]string{filepath.Join(dir, "src"), filepath.Join(dir, "other", "one")}, []string{filepath.Join(dir, "src", "out")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	expect := func(want string) {
		t.Helper()
		for {
			select {
			case got := <-f.changes:
				switch got {
				case filepath.Join(dir, want):
					return
				case filepath.Join(dir, "src"), filepath.Join(dir, "src", "new"), filepath.Join(dir, "src", "a.go"), filepath.Join(dir, "src", "new", "b.go"): // further events of the earlier changes
				default:
					t.Fatalf("got a change of %s, want %s", got, want)
				}
			case <-time.After(time.Minute):
				t.Fatalf("no change of %s was reported", want)
			}
		}
	}
	touch("src/.hidden", "src/a.go~", "src/out/report.json", "other/two", "src/a.go")
	expect("src/a.go")
	if err := os.Mkdir(filepath.Join(dir, "src", "new"), 0o750); err != nil {
		t.Fatal(err)
	}
	expect("src/new")
	touch("src/new/b.go")
	expect("src/new/b.go")
	touch("other/one")
	expect("other/one")
}
