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

	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/spelling"
	"github.com/mcp-conform/mcp-conform/suites"
)

// provers are the rooms whose tests name requirements, too. Those of other rooms
// make up ids of their own.
var provers = []string{"internal/discount", "internal/fuzz", "internal/ruleset", "internal/rules", "reference-server", "suites"}

// notIDs are the rooms in which such words are keys: of the configuration file.
var notIDs = []string{"internal/config"}

// idForm is the form of an id, alone or as a fault has it before a slash, or of
// what several ids begin with.
var idForm = regexp.MustCompile(`^((?:` + strings.Join(spec.Areas(), "|") + `|rule)\.[a-z0-9.-]*)(?:/[a-z0-9-]*)?$`)

// nestedCapabilities are those of servers and clients, in dotted form, which
// could be mistaken for ids of requirements.
var nestedCapabilities = vocabulary{
	"resources.subscribe", "tasks.list", "tasks.cancel", "tasks.requests.tools.call",
	"elicitation.form", "elicitation.url", "sampling.tools", "sampling.context",
	"tasks.requests.elicitation.create",
}

// vocabulary holds all ids that code may name.
type vocabulary []string

func ids() vocabulary {
	v := slices.Clone(nestedCapabilities)
	for _, q := range spec.Requirements().All() {
		v = append(v, q.ID)
	}
	for _, c := range suites.Cases() {
		v = append(v, c.ID)
	}
	for _, r := range ruleset.All() {
		v = append(v, r.ID)
	}
	return v
}

// has reports whether text is not an id at all, or one that exists, or what some
// begin with, if it ends as such a beginning does.
func (v vocabulary) has(text string) bool {
	m := idForm.FindStringSubmatch(text)
	if m == nil {
		return !v.misspellsArea(text)
	}
	if slices.Contains(v, m[1]) {
		return true
	}
	begins := strings.HasSuffix(m[1], ".") || strings.HasSuffix(m[1], "-")
	return begins && slices.ContainsFunc(v, func(id string) bool { return strings.HasPrefix(id, m[1]) })
}

// otherFirstWords begin what a requirement needs, see spec.
var otherFirstWords = []string{"client", "fixture"}

// misspellsArea reports whether text would be an id if it began with an area that is spelled alike.
func (v vocabulary) misspellsArea(text string) bool {
	first, rest, _ := strings.Cut(text, ".")
	return anyID.MatchString(text) && !slices.Contains(v, text) && !slices.Contains(otherFirstWords, first) && spelling.Nearest(first, spec.Areas()) != "" &&
		slices.ContainsFunc(v, func(id string) bool { _, other, _ := strings.Cut(id, "."); return other == rest })
}

// anyID is the form of an id whose area may be misspelled, too.
var anyID = regexp.MustCompile(`^[a-z-]+\.[a-z0-9.-]*[a-z0-9](?:/[a-z0-9-]*)?$`)

// takeIDs are the fields and functions that are given ids; of a function it is the
// first argument.
var takeIDs = []string{
	"Requirement", "Requirements", "Provokes", "newFault", "newStatefulFault", "Kept", "NotObserved", "NotApplicable", "Subject", "Elsewhere", "Unclear",
}

// meant returns the strings that are meant as ids, whatever area they name: values of fields and
// functions that take ids, and constants of a block in which another constant is an id.
func (v vocabulary) meant(file *ast.File) map[*ast.BasicLit]bool {
	out := map[*ast.BasicLit]bool{}
	literals := func(nodes ...ast.Node) (all []*ast.BasicLit) {
		for _, n := range nodes {
			ast.Inspect(n, func(n ast.Node) bool {
				if _, call := n.(*ast.CallExpr); call {
					return false
				}
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					all = append(all, lit)
				}
				return true
			})
		}
		return all
	}
	mark := func(nodes ...ast.Node) {
		for _, lit := range literals(nodes...) {
			out[lit] = true
		}
	}
	name := func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.Ident:
			return e.Name
		case *ast.SelectorExpr:
			return e.Sel.Name
		}
		return ""
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			if slices.Contains(takeIDs, name(n.Key)) {
				mark(n.Value)
			}
		case *ast.CallExpr:
			if len(n.Args) > 0 && slices.Contains(takeIDs, name(n.Fun)) {
				mark(n.Args[0])
			}
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if len(n.Lhs) == len(n.Rhs) && slices.Contains(takeIDs, name(to)) {
					mark(n.Rhs[i])
				}
			}
		case *ast.GenDecl:
			if n.Tok == token.CONST && slices.ContainsFunc(literals(n), func(lit *ast.BasicLit) bool { return slices.Contains(v, unquoted(lit)) }) {
				mark(n)
			}
		}
		return true
	})
	return out
}

func unquoted(lit *ast.BasicLit) string {
	text, _ := strconv.Unquote(lit.Value)
	return text
}

// TestIDsAreSpelledRight checks every text in the sources that has the form of an
// id of a requirement, a case or a rule: it has to be one.
func TestIDsAreSpelledRight(t *testing.T) {
	known := append(ids(), "ping.example") // which docs/authoring.md adds
	for text, want := range map[string]bool{
		"base.request-answered": true, "base.request-answers": false, "tools.call.": true, "tools.cal.": false,
		"base.request-answered/never": true, "base.request-answers/never": false, "resources.subscribe": true, "README.md": true,
		"rule.ping-answered": true, "rule.ping-answers": false, "see.endpoint-event": false, "lifcycle.initialize-response": false, "com.example": true,
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
			meant := known.meant(file)
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text := unquoted(lit)
					if !known.has(text) || meant[lit] && anyID.MatchString(text) && !idForm.MatchString(text) {
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
