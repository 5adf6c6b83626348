package engine

import (
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Rules judge what is said in every case. Of a selection only those cases are
// run whose traffic is made for it, so that a rule may see less than in a whole
// run; who narrows a run should know that where nothing was found.

// narrowed tells of that, "" where all that a whole run would see was seen, or
// where there is a finding all the same.
func (r *execution) narrowed(p *verdict.Report) string {
	if len(r.o.Selection.Focus) == 0 && r.o.Selection.Labels == "" || p.Incomplete != "" {
		return ""
	}
	all := 0
	for _, rev := range r.revisions {
		for i := range r.o.Cases {
			if c := &r.o.Cases[i]; c.AppliesTo(rev, r.transport()) && r.blocked(rev) == "" && r.missing(c, rev) == "" {
				all++
			}
		}
	}
	ran := r.tally.total()
	unseen := slices.ContainsFunc(r.rulePairs, func(pair pair) bool {
		return slices.ContainsFunc(p.Verdicts, func(v verdict.Verdict) bool {
			return v.Requirement == pair.requirement.ID && v.Revision == pair.revision && (v.Outcome == verdict.Kept || v.Outcome == verdict.NotObserved)
		})
	})
	if ran >= all || !unseen {
		return ""
	}
	return fmt.Sprintf("%d of %d cases were run, those that are made for what was selected: what is judged by all that a server says may show more in a whole run", ran, all)
}
