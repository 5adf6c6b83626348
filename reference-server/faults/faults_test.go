package faults_test

import (
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
)

func TestRowsAreSound(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range faults.All() {
		if seen[f.ID] {
			t.Errorf("%s: the id is used twice", f.ID)
		}
		seen[f.ID] = true
		if f.Title == "" || f.Seams == nil || f.Area == "" {
			t.Errorf("%s: title, area and seams must be set", f.ID)
		}
		if found, ok := faults.Lookup(f.ID); !ok || found.Title != f.Title {
			t.Errorf("%s: Lookup does not find it", f.ID)
		}
		if f.Legal {
			if f.Requirement != "" || !strings.HasPrefix(f.ID, "legal/") {
				t.Errorf("%s: a legal variation breaks no requirement", f.ID)
			}
			continue
		}
		q := spec.Requirements().Lookup(f.Requirement)
		if q == nil {
			t.Errorf("%s: the catalogue has no requirement %q", f.ID, f.Requirement)
			continue
		}
		if q.Level == spec.May && f.Transports == nil {
			t.Errorf("%s: a MAY can't be broken", f.ID) // over HTTP, breaking some MAYs is reported as a note
		}
		for _, over := range transports(f) {
			for _, r := range revisions(f, over) {
				if !q.AppliesTo(r, over) || !over.IsDefinedIn(r) {
					t.Errorf("%s: the requirement does not exist in %s over %s", f.ID, r, over)
				}
			}
			if len(revisions(f, over)) == 0 {
				t.Errorf("%s: the requirement exists in no handshake revision over %s", f.ID, over)
			}
		}
	}
	if _, ok := faults.Lookup("none"); ok {
		t.Error("Lookup finds what does not exist")
	}
}

func transports(f faults.Fault) []spec.Transport {
	if f.Transports == nil {
		return []spec.Transport{spec.Stdio}
	}
	return f.Transports
}

// revisions returns the revisions in which a fault can be shown over a transport.
func revisions(f faults.Fault, over spec.Transport) []spec.Revision {
	if !slices.Contains(transports(f), over) {
		return nil
	}
	q := spec.Requirements().Lookup(f.Requirement)
	return slices.DeleteFunc(f.AppliesIn(), func(r spec.Revision) bool { return !f.Legal && !q.AppliesTo(r, over) || !over.IsDefinedIn(r) })
}

// TestEveryPermissionIsUsed checks that each testable MAY of the handshake revisions, and
// each contradiction in them, has a legal variation that uses it, or a reason why it has none.
func TestEveryPermissionIsUsed(t *testing.T) {
	exist := func(what string, variations []string, why string) {
		t.Helper()
		if (len(variations) == 0) == (why == "") {
			t.Errorf("%s: there must be variations, or a reason why there are none", what)
		}
		for _, name := range variations {
			if f, ok := faults.Lookup("legal/" + name); !ok || !f.Legal {
				t.Errorf("%s: there is no legal variation %s", what, name)
			}
		}
	}
	for _, q := range spec.Requirements().All() {
		needed := q.Level == spec.May && q.Testable != spec.No && q.InEra(spec.Handshake)
		if needed || q.Variations != nil || q.NoVariation != "" {
			exist(q.ID, q.Variations, q.NoVariation)
		}
	}
	for _, c := range faults.Contradictions() {
		exist(c.What, c.Variations, c.Why)
	}
}

// TestFilesAreAreas checks that each row and each file belong to the area of the
// table.
func TestFilesAreAreas(t *testing.T) {
	for area, tables := range faults.Tables() {
		if !slices.Contains(spec.Areas(), area) {
			t.Errorf("there are tables of the unknown area %s", area)
		}
		for _, table := range tables {
			f := runtime.FuncForPC(reflect.ValueOf(table).Pointer())
			path, _ := f.FileLine(f.Entry())
			file := strings.TrimSuffix(filepath.Base(path), ".go")
			if file != area && !strings.HasPrefix(file, area+"_") {
				t.Errorf("%s of the area %s is in %s.go", f.Name(), area, file)
			}
			for _, row := range table() {
				if !row.Legal && spec.AreaOf(row.Requirement) != area {
					t.Errorf("%s is in a table of the area %s", row.ID, area)
				}
			}
		}
	}
}
