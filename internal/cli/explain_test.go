package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/config"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestExplainShowsThePageOfAJudgedRevision checks that explain links to the
// page of a revision that a run judges, if there is one.
func TestExplainShowsThePageOfAJudgedRevision(t *testing.T) {
	for id, want := range map[string]spec.Revision{
		"base.jsonrpc-2-0":             spec.V20251125,
		"base.batch-receive":           spec.V20250326,
		"base.base-protocol-supported": spec.V20251125,
		"versioning.per-request":       spec.V20260728,
	} {
		q := spec.Requirements().Lookup(id)
		if q == nil {
			t.Errorf("there is no requirement %s", id)
		} else if got := q.NewestJudged(); got != want {
			t.Errorf("%s: got the page of %s, want that of %s", id, got, want)
		}
	}
}

// TestExplainGradesAsTheVerdictDoes checks that explain names the most severe verdict that a
// deviation can get, for every requirement in every revision. It must say "less severely" or "at
// most" if a deviation with less than full weight gets a milder verdict.
func TestExplainGradesAsTheVerdictDoes(t *testing.T) {
	words := map[verdict.Outcome]string{verdict.Broken: "reported as broken, or less severely", verdict.Warning: "a warning at most", verdict.Note: "a note"}
	for _, q := range spec.Requirements().All() {
		explained := gradesOf(q)
		for _, r := range q.Revisions {
			outcome := verdict.Deviation{Requirement: q.ID}.Outcome(q, spec.Revision(r))
			found := ""
			for _, text := range explained {
				if len(explained) == 1 || strings.Contains(text, r) {
					found += text
				}
			}
			if words[outcome] == "" || !strings.Contains(found, words[outcome]) || !strings.Contains(found, q.Basis(spec.Revision(r)).DisplayName()) {
				t.Errorf("%s in %s: explain says %q, the verdict %v", q.ID, r, found, outcome)
			}
			softened := verdict.Deviation{Requirement: q.ID, Weight: verdict.OnlyNote}.Outcome(q, spec.Revision(r))
			if milder := softened != outcome; milder != (strings.Contains(found, "less severely") || strings.Contains(found, "at most")) && len(explained) == 1 {
				t.Errorf("%s in %s: explain says %q, a note's weight makes it %v", q.ID, r, found, softened)
			}
		}
	}
}

// TestNeedsNameConfigurationKeys checks that explain names keys that mcp-conform.yaml has, for
// needs that requirements have.
func TestNeedsNameConfigurationKeys(t *testing.T) {
	for need, keys := range needKeys {
		if !slices.ContainsFunc(spec.Requirements().All(), func(q *spec.Requirement) bool { return slices.Contains(q.Needs, need) }) {
			t.Errorf("no requirement needs %s", need)
		}
		for _, path := range keys {
			key := config.Keys()
			for name := range strings.SplitSeq(path, ": ") {
				at := slices.IndexFunc(key.Keys, func(k config.Key) bool { return k.Name == name })
				if at < 0 {
					t.Fatalf("%s: the configuration has no key %s", need, path)
				}
				key = key.Keys[at]
			}
		}
	}
	if got, want := configurationFor([]string{"logging", "fixture.slow-tool", "fixture.image"}), "fixtures: slow, fixtures: image in mcp-conform.yaml, "; !strings.HasPrefix(got, want) {
		t.Errorf("the configuration is %q", got)
	}
}
