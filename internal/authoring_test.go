package internal_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSamplesCompile keeps the functions in docs/authoring.md true: those of cases compile in
// suites/ping, those of rules in internal/rules.
func TestSamplesCompile(t *testing.T) {
	page, err := os.ReadFile("../docs/authoring.md")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`func \w+\(`)
	// An overlay adds a file to each package without writing into it.
	overlay := map[string]string{}
	for _, s := range []struct{ folder, takes, head string }{
		{"suites/ping", "*suite.T", "package ping\n" + imports("context", "internal/spec", "internal/suite", "internal/verdict", "internal/wire")},
		{"internal/rules", "*Session", "package rules\n" + imports("internal/verdict", "internal/wire")},
	} {
		text, found := s.head, 0
		for _, f := range functionsIn(string(page)) {
			if signature, _, _ := strings.Cut(f, "\n"); strings.Contains(signature, s.takes) {
				// Without its name, a sample that somebody pasted compiles too.
				text, found = text+name.ReplaceAllString(f, "func _("), found+1
			}
		}
		if found == 0 {
			t.Fatalf("docs/authoring.md has no function that takes a %s", s.takes)
		}
		file := filepath.Join(t.TempDir(), "sample.go")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay[filepath.Join(root, filepath.FromSlash(s.folder), "sample_of_the_guide.go")] = file
	}
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", file, "./internal/rules", "./suites/ping")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("samples in docs/authoring.md do not compile: %v\n%s", err, out)
	}
}

func imports(packages ...string) string {
	var out strings.Builder
	for _, p := range packages {
		if strings.Contains(p, "/") {
			p = "github.com/mcp-conform/mcp-conform/" + p
		}
		out.WriteString("import \"" + p + "\"\n")
	}
	return out.String()
}

// functionsIn returns the functions in the code blocks of a page.
func functionsIn(page string) []string {
	var out []string
	f, end := "", ""
	for line := range strings.Lines(page) {
		if code := strings.TrimLeft(line, " "); f == "" && strings.HasPrefix(code, "func ") {
			end = line[:len(line)-len(code)] + "}\n"
		}
		if end == "" {
			continue
		}
		f += line
		if line == end {
			out = append(out, f)
			f, end = "", ""
		}
	}
	return out
}
