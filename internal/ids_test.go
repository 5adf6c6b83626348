package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/judges"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/suites"
)

// provers are the rooms whose tests name requirements, too. Those of other rooms
// make up ids of their own.
var provers = []string{"internal/discount", "internal/fuzz", "internal/judges", "internal/rules", "reference-server", "suites"}

// notIDs are the rooms in which such words are keys: of the configuration file.
var notIDs = []string{"internal/config"}

// idForm is the form of an id, alone or as a fault has it before a slash, or of
// what several ids begin with.
var idForm = regexp.MustCompile(`^((?:` + strings.Join(spec.Areas(), "|") + `|rules)\.[a-z0-9.-]*)(?:/[a-z0-9-]*)?$`)

// vocabulary holds all ids that code may name.
type vocabulary []string

func ids() vocabulary {
	v := vocabulary(spec.CapabilityParts())
	for _, q := range spec.Requirements().All() {
		v = append(v, q.ID)
	}
	for _, c := range suites.Cases() {
		v = append(v, c.ID)
	}
	for _, r := range judges.All() {
		v = append(v, r.ID)
	}
	return v
}

// has reports whether text is no id at all, or one that exists, or what some
// begin with, if it ends as such a beginning does.
func (v vocabulary) has(text string) bool {
	m := idForm.FindStringSubmatch(text)
	if m == nil || slices.Contains(v, m[1]) {
		return true
	}
	begins := strings.HasSuffix(m[1], ".") || strings.HasSuffix(m[1], "-")
	return begins && slices.ContainsFunc(v, func(id string) bool { return strings.HasPrefix(id, m[1]) })
}

// TestIDsAreSpelledRight checks every text in the sources that has the form of an
// id of a requirement, a case or a rule: it has to be one.
func TestIDsAreSpelledRight(t *testing.T) {
	known := ids()
	for text, want := range map[string]bool{
		"base.request-answered": true, "base.request-answerd": false, "tools.call.": true, "tools.cal.": false,
		"base.request-answered/never": true, "base.request-answerd/never": false, "resources.subscribe": true, "README.md": true,
	} {
		if known.has(text) != want {
			t.Errorf("%q is taken for one that exists: %v", text, !want)
		}
	}
	fset := token.NewFileSet()
	for _, dir := range []string{"internal", "reference-server", "reporters", "suites"} {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, _ fs.DirEntry, err error) error {
			room := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
			in := func(rooms []string) bool {
				return slices.ContainsFunc(rooms, func(r string) bool { return room == r || strings.HasPrefix(room, r+"/") })
			}
			if err != nil || filepath.Ext(path) != ".go" || in(notIDs) || strings.HasSuffix(path, "_test.go") && !in(provers) {
				return err
			}
			file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil && !known.has(text) {
						t.Errorf("%s: %q has the form of an id, and no requirement, case or rule has it", fset.Position(lit.Pos()), text)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
