package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// What explain calls a deviation is what the verdict calls it: every
// requirement in every revision.
func TestExplainGradesAsTheVerdictDoes(t *testing.T) {
	words := map[verdict.Outcome]string{verdict.Broken: "called broken", verdict.Warning: "called a warning", verdict.Note: "called a note"}
	for _, q := range spec.Requirements().All() {
		explained := grades(q)
		for _, r := range q.Revisions {
			outcome := verdict.Deviation{Requirement: q.ID}.Outcome(q, spec.Revision(r))
			found := ""
			for _, text := range explained {
				if len(explained) == 1 || strings.Contains(text, r) {
					found += text
				}
			}
			if words[outcome] == "" || !strings.Contains(found, words[outcome]) || !strings.Contains(found, fmt.Sprint(q.Basis(spec.Revision(r)))) {
				t.Errorf("%s in %s: explain says %q, the verdict %v", q.ID, r, found, outcome)
			}
		}
	}
}
