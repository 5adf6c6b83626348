package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/mcp-conform/mcp-conform"

// anything stands for every package of the module.
const anything = "..."

// tools are packages that all may import, because they know nothing of the project.
var tools = []string{"internal/lazyregexp", "internal/locks", "internal/pipes", "internal/spelling", "internal/stderr"}

// layers says which packages of the module a package may import, lowest
// first. A name that ends in /* holds for the folders directly below; the
// first row that fits counts. Tests may import what they like.
var layers = []struct {
	pkg  string
	uses []string
}{
	{"fixtures", nil},
	{"internal/lazyregexp", nil},
	{"internal/locks", nil},
	{"internal/pipes", nil},
	{"internal/spelling", nil},
	{"internal/stderr", nil},
	// A program that puts latency between a run and a server, for fixtures/speed/run.
	{"fixtures/speed/slow", nil},
	// A program that measures runs on servers of growing sizes.
	{"fixtures/speed/growth", []string{"internal/load", "internal/spec", "internal/transport/exchange", "internal/transport/streamablehttp"}},
	{"internal/wire", nil},
	{"internal/uri", nil},
	{"internal/redact", nil},
	{"internal/oauth", nil},
	// Tokens for the server under test, which the judge issues.
	{"internal/issuer", nil},
	// A service that the server under test calls, which the judge imitates.
	{"internal/upstream", nil},
	{"internal/login", []string{"internal/oauth", "internal/transcript", "internal/wire"}},
	{"internal/spec", []string{"fixtures"}},
	{"internal/schema", []string{"fixtures", "internal/spec", "internal/uri", "internal/wire"}},
	{"internal/verdict", []string{"internal/spec"}},
	{"internal/baseline", []string{"internal/spec", "internal/verdict"}},
	// Evidence for others: a file format.
	{"internal/conformance", []string{"internal/spec", "internal/verdict"}},
	{"internal/sdk", []string{"fixtures", "internal/spec", "internal/verdict"}},
	{"internal/target", []string{"internal/redact", "internal/spec"}},

	{"internal/control", []string{"internal/wire"}},
	{"internal/transcript", []string{"internal/redact", "internal/wire"}},
	// What stands between a real client and a real server.
	{"internal/record", []string{"internal/headers", "internal/spec", "internal/transcript", "internal/transport/exchange", "internal/wire"}},
	{"internal/transport", []string{"internal/spec", "internal/transcript", "internal/wire"}},
	// What the transports over HTTP share.
	{"internal/transport/exchange", []string{"internal/transcript", "internal/transport", "internal/wire"}},
	// A server over HTTP that is started in the same way as one over stdio.
	{"internal/transport/started", []string{
		"internal/spec", "internal/transcript", "internal/transport", "internal/transport/stdio", "internal/wire",
	}},
	{"internal/headers", []string{"internal/spec", "internal/wire"}},
	{"internal/transport/*", []string{
		"internal/headers", "internal/spec", "internal/transcript", "internal/transport", "internal/transport/exchange", "internal/wire",
	}},

	{"internal/client", []string{"internal/spec", "internal/transcript", "internal/transport", "internal/wire"}},
	{"internal/script", []string{"internal/client", "internal/discount", "internal/spec", "internal/transcript", "internal/transport", "internal/wire"}},
	{"internal/generate", []string{"internal/schema", "internal/script", "internal/spec", "internal/uri", "internal/wire"}},
	{"internal/inventory", []string{"internal/client", "internal/generate", "internal/spec", "internal/transcript", "internal/wire"}},
	{"internal/config", []string{"internal/inventory", "internal/spec", "internal/target", "internal/verdict"}},
	{"internal/suite", []string{
		"internal/client", "internal/control", "internal/generate", "internal/inventory", "internal/issuer", "internal/oauth", "internal/spec", "internal/transcript",
		"internal/transport", "internal/upstream", "internal/verdict", "internal/wire",
	}},
	{"internal/rules", []string{
		"internal/control", "internal/discount", "internal/headers", "internal/schema", "internal/spec", "internal/transcript", "internal/verdict",
		"internal/wire",
	}},

	// What does not count, and why.
	{"internal/discount", []string{"internal/spec", "internal/transcript", "internal/verdict", "internal/wire"}},

	{"internal/rules/*", []string{
		"internal/control", "internal/discount", "internal/headers", "internal/rules", "internal/schema", "internal/spec", "internal/transcript", "internal/uri",
		"internal/verdict", "internal/wire",
	}},
	{"internal/ruleset", []string{"internal/rules", "internal/rules/*"}},

	// The engine is handed its cases and never reaches for them.
	{"internal/engine", []string{
		"internal/client", "internal/discount", "internal/inventory", "internal/issuer", "internal/oauth", "internal/rules", "internal/spec", "internal/suite",
		"internal/transcript", "internal/transport", "internal/upstream", "internal/verdict", "internal/wire",
	}},
	{"internal/fuzz", []string{
		"internal/client", "internal/discount", "internal/generate", "internal/inventory", "internal/rules", "internal/script", "internal/spec", "internal/transcript",
		"internal/transport", "internal/verdict", "internal/wire",
	}},
	{"suites/fuzz", []string{
		"internal/fuzz", "internal/generate", "internal/script", "internal/spec", "internal/transcript", "internal/verdict", "internal/wire",
	}},
	// The suites within a Go test of a server's author.
	{"suites/mcptest", []string{anything}},
	{"suites", []string{"internal/suite", "suites/*"}},
	{"suites/*", []string{
		"internal/client", "internal/generate", "internal/headers", "internal/inventory", "internal/issuer", "internal/oauth", "internal/spec", "internal/suite",
		"internal/transcript", "internal/uri", "internal/verdict", "internal/wire",
	}},
	// Helpers for the tests of the suites; no suite itself may import it.
	{"internal/suitetest", []string{anything}},
	// Helpers for tests that take long or use third-party software.
	{"internal/skip", nil},
	// Measuring programs.
	{"internal/cputime", nil},
	{"reporters", []string{"internal/conformance", "internal/spec", "internal/transcript", "internal/verdict"}},

	// The judge and the judged share no opinions.
	{"reference-server", []string{"internal/spec", "internal/wire"}},
	{"reference-server/faults", []string{"internal/spec", "internal/wire", "reference-server"}},

	{"internal/inprocess", []string{"internal/transport", "internal/transport/stdio", "reference-server"}},

	// What a gateway changes: the reference server with it and without it.
	{"internal/gateway", []string{
		"internal/client", "internal/spec", "internal/transcript", "internal/transport", "internal/verdict", "internal/wire", "reference-server",
	}},

	// The proofs put the judge and the judged together.
	{"internal/selftest", []string{anything}},
	{"internal/load", []string{anything}},
	// What holds it against the official suite runs programs alone.
	{"internal/officialsuite", nil},
	{"internal/officialsuite/sidebyside", []string{"internal/officialsuite"}},
	// What judges many servers runs this program again for each.
	{"internal/sweep", []string{
		"internal/config", "internal/sdk", "internal/spec", "internal/target", "internal/transport", "internal/transport/stdio", "internal/verdict", "reporters",
	}},
	// An MCP server that runs this program again.
	{"internal/agent", []string{"internal/spec", "internal/verdict", "reporters"}},
	{"internal/cli", []string{anything}},
	// Programs for the tests of internal/cli.
	{"internal/cli/exits", nil},
	{"internal/oddservers", []string{"internal/spec", "internal/wire", "reference-server", "reference-server/faults"}},
	{"internal/oddservers/odd", []string{"internal/oddservers"}},
	{"cmd/mcp-conform", []string{"internal/cli"}},
}

func TestImportDirections(t *testing.T) {
	imports, err := importsBelow("..")
	if err != nil {
		t.Fatal(err)
	}
	if len(imports) < 5 {
		t.Fatalf("only %d packages were found; the walk missed the module", len(imports))
	}
	for _, complaint := range judge(imports) {
		t.Error(complaint)
	}
}

func TestImportDirectionsAreKept(t *testing.T) {
	for _, c := range []struct {
		name     string
		pkg, use string
		want     []string
	}{
		{"downwards", "internal/client", "internal/wire", nil},
		{"upwards", "internal/wire", "internal/client", []string{"internal/wire imports internal/client; it may import no package of the module"}},
		{"across", "reporters", "internal/wire", []string{"reporters imports internal/wire; it may import internal/conformance, internal/spec, internal/transcript, internal/verdict"}},
		{"the judged reaches for the judge", "reference-server/faults", "internal/client", []string{"reference-server/faults imports internal/client; it may import internal/spec, internal/wire, reference-server"}},
		{"a folder that a pattern names", "suites/tools", "internal/suite", nil},
		{"a pattern on the other side", "suites", "suites/tools", nil},
		{"a pattern is one folder deep", "suites/tools/deep", "internal/suite", []string{"internal/architecture_test.go has no row for suites/tools/deep; add one that says what it may import"}},
		{"the meeting place", "internal/cli", "suites", nil},
		{"a tool", "internal/wire", tools[0], nil},
		{"an unknown package", "internal/news", "internal/wire", []string{"internal/architecture_test.go has no row for internal/news; add one that says what it may import"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, judge(map[string][]string{c.pkg: {c.use}})); diff != "" {
				t.Errorf("complaints (-want +got):\n%s", diff)
			}
		})
	}
}

// judge returns what is wrong with the given imports, by package.
func judge(imports map[string][]string) []string {
	var complaints []string
	for pkg, used := range imports {
		uses, ok := allowed(pkg)
		if !ok {
			complaints = append(complaints, fmt.Sprintf("internal/architecture_test.go has no row for %s; add one that says what it may import", pkg))
			continue
		}
		may := strings.Join(uses, ", ")
		if may == "" {
			may = "no package of the module"
		}
		for _, use := range used {
			if !slices.Contains(tools, use) && !slices.ContainsFunc(uses, func(pattern string) bool { return pattern == anything || fits(pattern, use) }) {
				complaints = append(complaints, fmt.Sprintf("%s imports %s; it may import %s", pkg, use, may))
			}
		}
	}
	slices.Sort(complaints)
	return complaints
}

func allowed(pkg string) ([]string, bool) {
	for _, row := range layers {
		if fits(row.pkg, pkg) {
			return row.uses, true
		}
	}
	return nil, false
}

func fits(pattern, pkg string) bool {
	ok, err := path.Match(pattern, pkg)
	return err == nil && ok
}

// importsBelow returns the packages of the module at root that have other
// files than tests, for all systems, with the packages of the module that
// those files import.
func importsBelow(root string) (map[string][]string, error) {
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != root && leftOut(name, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(folder)
		found[pkg] = append(found[pkg], ownImports(file.Imports)...)
		return nil
	})
	for pkg, used := range found {
		slices.Sort(used)
		found[pkg] = slices.Compact(used)
	}
	return found, err
}

// leftOut reports whether a folder holds no packages of this module: it is
// another module, data, or what a package manager installed.
func leftOut(folder, name string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil || name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

func ownImports(specs []*ast.ImportSpec) []string {
	var own []string
	for _, s := range specs {
		if name, err := strconv.Unquote(s.Path.Value); err == nil {
			if pkg, ok := strings.CutPrefix(name, module+"/"); ok {
				own = append(own, pkg)
			}
		}
	}
	return own
}
