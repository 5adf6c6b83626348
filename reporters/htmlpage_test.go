package reporters

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// TestPlurals checks that the page puts the nouns among its counts into the plural, and no others.
func TestPlurals(t *testing.T) {
	revision := spec.V20251125
	r := &verdict.Report{Revisions: []spec.Revision{revision}}
	for i, outcome := range []verdict.Outcome{verdict.Broken, verdict.Broken, verdict.Warning, verdict.Warning, verdict.Note, verdict.Kept, verdict.NotObserved, verdict.NotObserved} {
		r.Verdicts = append(r.Verdicts, verdict.Verdict{Requirement: fmt.Sprint("ping.", i), Area: "ping", Revision: revision, Outcome: outcome})
	}
	page := string(write(t, HTML, r))
	for _, want := range []string{
		"2 broken</li>", "2 warnings</li>", "1 note</li>", "2 not observed</li>", ">2 broken, 2 warnings, 1 note, 1 kept, 2 not observed<",
		`data-label="warnings">2<`, `data-label="note">1<`, `data-label="kept">1<`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}
