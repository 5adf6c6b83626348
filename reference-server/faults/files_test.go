package faults_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

// readFile sends resources/read for a file to a server with the fault.
func readFile(t *testing.T, fault, path string) string {
	return callServer(t, fault, spec.MethodResourcesRead, map[string]any{"uri": "file://" + path})
}

// callServer sends a request to a server with the fault and returns the response.
func callServer(t *testing.T, fault, method string, params map[string]any) string {
	t.Helper()
	f, ok := faults.Lookup(fault)
	if !ok {
		t.Fatalf("there is no fault %s", fault)
	}
	said := make(chan string, 10)
	s := refserver.NewSession(t.Context(), refserver.Options{Seams: f.Seams()}, func(o *refserver.Out) {
		if o.Method == method {
			said <- string(o.Frames[0])
		}
	})
	defer s.Close(context.Background())
	s.Deliver([]byte(initialize("2025-11-25", "{}")))
	s.Deliver([]byte(request("1", method, string(wire.JSON(params)))))
	return <-said
}

// TestFilesOutsideOfTheRoots checks that the faults read files by the paths that their
// titles describe, and only temporary files.
func TestFilesOutsideOfTheRoots(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "secret.txt")
	if err := os.WriteFile(path, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	dots := folder + "/../" + filepath.Base(folder) + "/secret.txt"
	for _, c := range []struct {
		fault, path string
		reads       bool
	}{
		{"roots.boundaries.respected/read", path, true},
		{"roots.boundaries.respected/read", dots, false},
		{"roots.boundaries.respected/read", "/etc/hostname", false},
		{"roots.paths.validated/dots", dots, true},
		{"roots.paths.validated/dots", path, false},
		{"roots.paths.validated/dots", folder + "/../../../../../etc/hostname", false},
	} {
		if got := readFile(t, c.fault, c.path); strings.Contains(got, "canary") != c.reads || !c.reads && !strings.Contains(got, `"error"`) {
			t.Errorf("%s: %s: %s", c.fault, c.path, got)
		}
	}
}

// TestFilesInPrompts checks that the faults return the file whose path or URI is an
// argument, and only temporary files.
func TestFilesInPrompts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "note.txt")
	if err := os.WriteFile(path, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fault, name string
		shows       bool
	}{
		{"prompts.security.validate-inputs-and-outputs/path", path, true},
		{"prompts.security.validate-inputs-and-outputs/path", "file://" + path, false},
		{"prompts.security.validate-inputs-and-outputs/uri", "file://" + path, true},
		{"prompts.security.validate-inputs-and-outputs/uri", path, false},
		{"prompts.security.validate-inputs-and-outputs/path", "/etc/hostname", false},
	} {
		got := callServer(t, c.fault, spec.MethodPromptsGet, map[string]any{"name": "greeting", "arguments": map[string]any{"name": c.name}})
		if strings.Contains(got, "canary") != c.shows || !c.shows && !strings.Contains(got, c.name) {
			t.Errorf("%s: %s: %s", c.fault, c.name, got)
		}
	}
}
