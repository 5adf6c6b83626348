package engine

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// area returns the area that a case counts to: that of the requirements that it
// judges, or else provokes, in the revision over the transport of the run, as
// findings and verdicts do. Of several it is the one that the case is named
// after, else that of the first.
func (r *run) area(c *suite.Case, rev spec.Revision) string {
	var areas []string
	for _, judged := range []bool{true, false} {
		for _, q := range spec.Requirements().All() {
			concerned := slices.Contains(c.Requirements, q.ID)
			if !judged {
				concerned = c.ProvokesID(q.ID)
			}
			if concerned && q.AppliesTo(rev, r.over()) && !slices.Contains(areas, q.Area) {
				areas = append(areas, q.Area)
			}
		}
		switch {
		case slices.Contains(areas, c.Area()):
			return c.Area()
		case len(areas) > 0:
			return areas[0]
		}
	}
	return c.Area()
}
