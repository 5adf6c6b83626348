package spec_test

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mcp-conform/mcp-conform/fixtures"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// TestMain shows a mistake in the catalogue without the stack trace of the first test that needs
// it.
func TestMain(m *testing.M) {
	if err := spec.CheckCatalogue(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	m.Run()
}

func TestCatalogueIsWhole(t *testing.T) {
	entries := map[string]int{}
	for _, q := range spec.Requirements().All() {
		entries[q.Area]++
	}
	for _, area := range spec.Areas() {
		if entries[area] == 0 {
			t.Errorf("the area %s has no entries", area)
		}
	}
	q := spec.Requirements().Lookup("base.jsonrpc-2-0")
	if q == nil || q.Level != spec.Must || q.Area != "base" || !q.AppliesTo(spec.V20241105, spec.SSE) {
		t.Errorf("base.jsonrpc-2-0 was read as %+v", q)
	}
}

func TestOnlyAStrongBasisBreaks(t *testing.T) {
	strong := map[spec.Basis]bool{spec.Keyword: true, spec.Schema: true, spec.Incorporated: true}
	for _, q := range spec.Requirements().All() {
		for _, r := range q.Revisions {
			r := spec.Revision(r)
			may := strings.HasPrefix(string(q.Level), "MUST") && strong[q.Basis(r)]
			if got := q.Grade(r) == spec.GradeBroken; got != may {
				t.Errorf("%s in %s: level %s, basis %s, can break: %v", q.ID, r, q.Level, q.Basis(r), got)
			}
			if q.Level == spec.May && q.Grade(r) != spec.GradeNote {
				t.Errorf("%s is a MAY and graded %v", q.ID, q.Grade(r))
			}
		}
	}
}

func TestReadCatalogueSaysWhatIsWrong(t *testing.T) {
	const good = `- {id: base.b, statement: s, level: MUST, basis: keyword, revisions: ['2025-11-25'], transports: any, section: x, needs: [], testable: 'yes', observe: o}` + "\n"
	edit := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	for _, c := range []struct{ name, text, want string }{
		{"good", good, ""},
		{"twice", good + good, "base.b: the id is used twice"},
		{"level", edit("MUST", "OUGHT"), `level is "OUGHT"`},
		{"basis", edit("keyword", "hearsay"), `basis in 2025-11-25 is "hearsay"`},
		{"basis of another revision", edit("keyword", "{'2025-11-25': keyword, '2024-11-05': schema}"), "basis names 2024-11-05"},
		{"revision", edit("2025-11-25", "2025-11-26"), "not published"},
		{"transport", edit("any", "[pigeon]"), "pigeon"},
		{"transport word", edit("any", "all"), "must be any or a list"},
		{"unknown field", edit("needs", "kneads"), "kneads"},
		{"testable", edit("'yes'", "'sometimes'"), "sometimes"},
		{"trait", edit("observe: o", "observe: o, traits: [notice]"), ""},
		{"unknown trait", edit("observe: o", "observe: o, traits: [notices]"), `trait "notices" is not known`},
		{"not judged", edit("observe: o", "observe: o, not_judged: r"), ""},
		{"not judged, and can't be", edit("testable: 'yes'", "testable: 'no', not_judged: r"), "no check could judge the requirement"},
		{"a permission not judged", edit("level: MUST", "not_judged: r, level: MAY"), "no check could judge the requirement"},
		{"variations", edit("level: MUST", "variations: [v], level: MAY"), ""},
		{"variations of a MUST", edit("level: MUST", "variations: [v], level: MUST"), "of a MAY only"},
		{"variations and none", edit("level: MUST", "variations: [v], no_variation: r, level: MAY"), "exclude each other"},
		{"id with capitals and underscores", edit("base.b", "base.Some_B"), `requirements/base.yaml: base.Some_B: an id has lower-case letters and digits, joined by - and . (did you mean "base.some-b"?)`},
		{"need", edit("needs: []", "needs: [logging, client.sampling]"), ""},
		{"misspelt need", edit("needs: []", "needs: [loging]"), `requirements/base.yaml: base.b: need "loging" is not known: did you mean "logging"?`},
		{"unknown need", edit("needs: []", "needs: [luck]"), `need "luck" is not known: the head of base.yaml explains all`},
		{"no statement", edit("statement: s", "statement: ''"), "must not be empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := spec.ReadCatalogue(fstest.MapFS{"requirements/base.yaml": {Data: []byte(c.text)}})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v; want it to say %q", err, c.want)
			}
		})
	}
}

// TestNeedsAreExplainedAndUsed compares the list with the head of base.yaml and with the entries.
func TestNeedsAreExplainedAndUsed(t *testing.T) {
	text, err := fs.ReadFile(fixtures.Requirements, "requirements/base.yaml")
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(text), "\n- id: ")
	explained := strings.FieldsFunc(head, func(r rune) bool { return strings.ContainsRune(" \n,:;()", r) })
	used := map[string]bool{}
	for _, q := range spec.Requirements().All() {
		for _, need := range q.Needs {
			used[need] = true
		}
	}
	for _, need := range spec.Needs {
		if !slices.Contains(explained, need) {
			t.Errorf("the head of base.yaml does not explain the need %s", need)
		}
		if !used[need] {
			t.Errorf("no entry has the need %s", need)
		}
	}
}

func TestEveryWeaknessHasAName(t *testing.T) {
	for _, q := range spec.Requirements().All() {
		if n := q.Weakness(); n > 0 && !strings.Contains(spec.WeaknessName(n), " ") {
			t.Errorf("%s: CWE-%d has no name in weakness.go", q.ID, n)
		}
	}
}
