package cli

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-conform/mcp-conform/internal/config"
	"github.com/mcp-conform/mcp-conform/internal/conformance"
	"github.com/mcp-conform/mcp-conform/internal/selftest"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

var update = flag.Bool("update", false, "rewrite the generated pages of the documentation")

// TestGeneratedPagesAreFresh checks that the generated pages are up to date.
// The page of the self-test is compared with the expected result instead of a
// run, because a run takes long. A self-test with another result fails on its
// own.
func TestGeneratedPagesAreFresh(t *testing.T) {
	for _, page := range []struct {
		file, command string
		write         func(b *strings.Builder) error
	}{
		{"coverage.md", "mcp-conform list --coverage --markdown > docs/coverage.md", func(b *strings.Builder) error { return newCoverage().writePage(b) }},
		{"selftest.md", "mcp-conform selftest --markdown docs/selftest.md", func(b *strings.Builder) error {
			return selftest.Expected(selftest.Options{Faults: faults.All(), Faultless: true}).WritePage(b)
		}},
		{"configuration.md", "go test ./internal/cli -run Generated -update", func(b *strings.Builder) error { b.WriteString(config.Page()); return nil }},
		{conformance.SchemaFile, "go test ./internal/cli -run Generated -update", func(b *strings.Builder) error { b.Write(conformance.Schema); return nil }},
		{"reports-of/README.md", "docs/reports-of/write PATH-OF-MCP-CONFORM", func(b *strings.Builder) error { return writeReportsOf(t, b) }},
		{config.SchemaFile, "go test ./internal/cli -run Generated -update", func(b *strings.Builder) error {
			text, err := config.Schema()
			b.Write(text)
			return err
		}},
	} {
		path := filepath.Join("..", "..", "docs", page.file)
		var want strings.Builder
		if err := page.write(&want); err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(path, []byte(want.String()), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(want.String(), "\n"), strings.Split(strings.ReplaceAll(string(got), "\r\n", "\n"), "\n")); diff != "" {
			t.Errorf("docs/%s is outdated (-now +file); rewrite it with\n  %s\nor all pages with\n  go test ./internal/cli -run Generated -update\n%s", page.file, page.command, diff)
		}
	}
}

// TestCoverageAddsUp checks that the page of the coverage lists every requirement, that one which
// is not judged yet has a reason, and that one which can't be observed has no faults.
func TestCoverageAddsUp(t *testing.T) {
	p := &coveragePage{c: newCoverage()}
	var b strings.Builder
	if err := p.c.writePage(&b); err != nil {
		t.Fatal(err)
	}
	l := &listing{}
	for _, q := range l.listedRequirements() {
		s := p.c.lookup(q)
		if s.state == notYet && s.reason == "" {
			t.Errorf("%s is not judged and has no reason", q.ID)
		}
		if s.state == judged && len(s.judges) == 0 || s.state == outside && len(s.faults) > 0 {
			t.Errorf("%s: %s", q.ID, s.text())
		}
		if !strings.Contains(b.String(), "| `"+q.ID+"` |") {
			t.Errorf("the page does not contain %s", q.ID)
		}
	}
}
