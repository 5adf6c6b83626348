package suitetest

import (
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// QuickDifferences returns a line for each verdict of a quick run that a whole
// run on the same server does not share. Requirements that the quick run did not
// judge are not a difference.
func QuickDifferences(quick, whole *verdict.Report) []string {
	outcomes := map[verdict.Place]verdict.Outcome{}
	for i := range whole.Verdicts {
		v := &whole.Verdicts[i]
		outcomes[v.Place()] = v.Outcome
	}
	var out []string
	for i := range quick.Verdicts {
		v := &quick.Verdicts[i]
		if o, judged := outcomes[v.Place()]; v.Outcome != verdict.NotObserved && (!judged || o != v.Outcome) {
			out = append(out, fmt.Sprintf("%s in %s: a quick run says %v, a whole run %v", v.Requirement, v.Revision, v.Outcome, o))
		}
	}
	return out
}
