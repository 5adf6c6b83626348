package suites_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/ruleset"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/suites"
)

func judgesByRequirement() map[string][]string { return engine.Judges(suites.Cases(), ruleset.All()) }

func TestEveryIDExists(t *testing.T) {
	ids := map[string]bool{}
	claim := func(id string) {
		if ids[id] || spec.Requirements().Lookup(id) != nil {
			t.Errorf("%s is the id of two requirements, cases or rules; give one of them another id", id)
		}
		ids[id] = true
	}
	for _, c := range suites.Cases() {
		claim(c.ID)
		if err := c.Check(); err != nil {
			t.Error(err)
		}
	}
	for _, r := range ruleset.All() {
		claim(r.ID)
	}
	for id, judges := range judgesByRequirement() {
		if spec.Requirements().Lookup(id) == nil {
			t.Errorf("%s judge %s, which the catalogue does not have", judges, id)
		}
	}
	for _, f := range faults.All() {
		if !f.Legal && spec.Requirements().Lookup(f.Requirement) == nil {
			t.Errorf("the fault %s breaks %s, which the catalogue does not have", f.ID, f.Requirement)
		}
	}
}

// TestEveryRequirementIsJudgedOrSaysWhyNot checks that every requirement of a handshake revision
// is judged and a fault proves it, or that the catalogue has a reason.
func TestEveryRequirementIsJudgedOrSaysWhyNot(t *testing.T) {
	proven := map[string]bool{}
	for _, f := range faults.All() {
		proven[f.Requirement] = true
	}
	judges := judgesByRequirement()
	for _, q := range spec.Requirements().All() {
		by, needed := judges[q.ID], q.Testable != spec.No && q.Level != spec.May && q.InEra(spec.Handshake)
		switch {
		case len(by) > 0 && q.NotJudged != "":
			t.Errorf("%s is judged by %v: take its not_judged out of fixtures/requirements/%s.yaml", q.ID, by, q.Area)
		case len(by) == 0 && needed && q.NotJudged == "":
			t.Errorf("%s is judged by no case and no rule: write one, or the reason why not as its not_judged in fixtures/requirements/%s.yaml", q.ID, q.Area)
		case len(by) > 0 && q.Level != spec.May && q.InEra(spec.Handshake) && !proven[q.ID]:
			t.Errorf("%v judge %s, and no fault proves it: add one to reference-server/faults", by, q.ID)
		}
	}
}

// TestFoldersAreAreas checks that each case is in the folder of its area.
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

// TestGinkgoFindsTheSuites checks that each suite has what the ginkgo command looks for: a test
// file that imports Ginkgo. Without it, ginkgo does not pass its flags on.
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
			t.Errorf("%s is not a suite to the ginkgo command", file)
		}
	}
}
