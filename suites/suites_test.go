package suites_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/judges"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/suites"
)

// covered reports whether every testable requirement of the handshake revisions in
// an area is judged, or is listed among those that are not yet, with a reason.
func covered(q *spec.Requirement) bool {
	return !slices.Contains([]string{"stateless", "discover", "mrtr", "subscriptions", "caching", "authorization", "security", "deprecated"}, q.Area)
}

func judged() map[string][]string { return engine.Judges(suites.Cases(), judges.All()) }

func TestEveryIDExists(t *testing.T) {
	ids := map[string]bool{}
	claim := func(id string) {
		if ids[id] || spec.Requirements().Lookup(id) != nil {
			t.Errorf("%s names two things", id)
		}
		ids[id] = true
	}
	for _, c := range suites.Cases() {
		claim(c.ID)
		if err := c.Check(); err != nil {
			t.Error(err)
		}
	}
	for _, r := range judges.All() {
		claim(r.ID)
	}
	for id, judges := range judged() {
		if spec.Requirements().Lookup(id) == nil {
			t.Errorf("%s judge %s, which the catalogue does not have", judges, id)
		}
	}
	for _, f := range faults.All() {
		if !f.Legal && spec.Requirements().Lookup(f.Requirement) == nil {
			t.Errorf("the fault %s breaks %s, which the catalogue does not have", f.ID, f.Requirement)
		}
	}
	for id := range suites.NotYet() {
		if spec.Requirements().Lookup(id) == nil {
			t.Errorf("not yet judged is %s, which the catalogue does not have", id)
		}
	}
}

func TestEveryTestableRequirementIsJudgedOrListed(t *testing.T) {
	judges := judged()
	for _, q := range spec.Requirements().All() {
		handshake := slices.ContainsFunc(spec.HandshakeRevisions(), func(r spec.Revision) bool { return slices.Contains(q.Revisions, string(r)) })
		if !covered(q) || !handshake || q.Testable == spec.No {
			continue
		}
		if q.Level == spec.May && len(judges[q.ID]) == 0 {
			continue // what is permitted nobody can break
		}
		_, later := suites.NotYet()[q.ID]
		switch {
		case len(judges[q.ID]) == 0 && !later:
			t.Errorf("%s is judged by nobody and does not stand in NotYet", q.ID)
		case len(judges[q.ID]) > 0 && later:
			t.Errorf("%s stands in NotYet and is judged by %v", q.ID, judges[q.ID])
		}
	}
}

// TestEveryJudgeIsProven: whoever can find something has a fault to find.
func TestEveryJudgeIsProven(t *testing.T) {
	proofs := map[string]bool{}
	for _, f := range faults.All() {
		proofs[f.Requirement] = true
	}
	for id, judges := range judged() {
		q := spec.Requirements().Lookup(id)
		if q.Level == spec.May || proofs[id] {
			continue
		}
		for _, r := range spec.HandshakeRevisions() {
			if slices.ContainsFunc(spec.Transports(), func(over spec.Transport) bool { return over.DefinedIn(r) && q.AppliesTo(r, over) }) {
				t.Errorf("%v judge %s, and no fault proves it", judges, id)
				break
			}
		}
	}
}

// TestFoldersAreAreas holds the folder of each case against its area.
func TestFoldersAreAreas(t *testing.T) {
	id := regexp.MustCompile(`(?m)^\s*ID: +"([a-z.-]+)",$`)
	folder := map[string]string{}
	for _, area := range spec.Areas() {
		files, err := filepath.Glob(filepath.Join(area, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range id.FindAllSubmatch(text, -1) {
				folder[string(m[1])] = area
			}
		}
	}
	for _, c := range suites.Cases() {
		if folder[c.ID] != c.Area() {
			t.Errorf("the case %s of the area %s is in suites/%s", c.ID, c.Area(), folder[c.ID])
		}
	}
}

// TestGinkgoFindsTheSuites holds each suite's test against what the ginkgo command
// looks for: a test file that imports Ginkgo. It then passes its flags on.
func TestGinkgoFindsTheSuites(t *testing.T) {
	files, err := filepath.Glob("*/*_suite_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d suites were found: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if s := string(text); !strings.Contains(s, `"github.com/onsi/ginkgo/v2"`) || !strings.Contains(s, "ginkgo.RunSpecs(t,") || !strings.Contains(s, "suitetest.Declare(") {
			t.Errorf("%s is no suite to the ginkgo command", file)
		}
	}
}
