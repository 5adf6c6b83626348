package engine

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// enough returns what tells that all has come back for which a case is run
// again, so that what remains need not be waited for; nil where it is not for
// rules alone, for cases judge at their end. Nor do rules tell that something
// did not come before the end: for that all waits are whole.
func (o *opener) enough() func() bool {
	var judges []rules.Rule
	for _, c := range o.sought {
		i := slices.IndexFunc(o.r.o.Rules, func(rule rules.Rule) bool { return rule.ID == c.key.Judge })
		if i < 0 {
			return nil
		}
		if !slices.ContainsFunc(judges, func(rule rules.Rule) bool { return rule.ID == c.key.Judge }) {
			judges = append(judges, o.r.o.Rules[i])
		}
	}
	if len(judges) == 0 || o.r.mixes {
		return nil
	}
	return func() bool { return o.back(judges) }
}

// back reports whether all has come back that is sought.
func (o *opener) back(judges []rules.Rule) bool {
	seen := map[verdict.Key]bool{}
	for _, conv := range o.all() {
		for _, result := range rules.SoFar(judges, conv.Record.From(0), conv.Revision(), o.r.over()) {
			for _, d := range result.Deviations {
				seen[d.Key(result.Rule, result.Revision, o.r.over())] = true
			}
		}
	}
	return !slices.ContainsFunc(o.sought, func(c *candidate) bool { return !seen[c.key] })
}
