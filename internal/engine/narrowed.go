package engine

import (
	"fmt"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// Rules judge the traffic of every case. A selection runs only the cases that provoke the selected
// requirements (see suite.Case.Provokes), so a rule may see less than in a whole run. If a rule
// found nothing against one of its requirements, a notice says that a whole run may show more.

// narrowedNotice returns a notice that a whole run may show more, or "". It returns "" if no case
// was left out, if no requirement that rules judge is kept or not observed, if the run ended early,
// and for a quick run, which has its own notice.
func (r *reporting) narrowedNotice(p *verdict.Report) string {
	if !p.Narrowed && len(r.o.Selection.Profiles) == 0 || r.o.Quick || p.Incomplete != "" {
		return ""
	}
	all := 0
	for _, rev := range r.offer.revisions {
		for i := range r.o.Cases {
			if c := &r.o.Cases[i]; c.AppliesTo(rev, r.offer.over) && r.offer.whyBlocked(c, rev) == "" && r.offer.whyInapplicable(c, rev) == "" {
				all++
			}
		}
	}
	ran := r.plan.total()
	unseen := slices.ContainsFunc(r.plan.rulePairs, func(pair pair) bool {
		return slices.ContainsFunc(p.Verdicts, func(v verdict.Verdict) bool {
			return v.Requirement == pair.requirement.ID && v.Revision == pair.revision && (v.Outcome == verdict.Kept || v.Outcome == verdict.NotObserved)
		})
	})
	if ran >= all || !unseen {
		return ""
	}
	return fmt.Sprintf("only the %d selected of %d cases ran; a whole run may show more", ran, all)
}
