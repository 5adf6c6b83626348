package engine

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// whenReproduced returns a function that reports whether all candidates of the
// retry were seen again, so that the remaining waits can be skipped. It returns
// nil unless rules alone judge the candidates: cases judge at their end. A rule
// about something missing reports only at the end, so its waits stay complete.
func (o *opener) whenReproduced() func() bool {
	var judges []rules.Rule
	for _, c := range o.retrying {
		i := slices.IndexFunc(o.r.o.Rules, func(rule rules.Rule) bool { return rule.ID == c.key.Judge })
		if i < 0 {
			return nil
		}
		if !slices.ContainsFunc(judges, func(rule rules.Rule) bool { return rule.ID == c.key.Judge }) {
			judges = append(judges, o.r.o.Rules[i])
		}
	}
	if len(judges) == 0 || o.r.mixesResponses {
		return nil
	}
	return func() bool { return o.isReproduced(judges) }
}

// isReproduced reports whether all candidates of the retry were seen again.
func (o *opener) isReproduced(judges []rules.Rule) bool {
	seen := map[verdict.Key]bool{}
	for _, conv := range o.conversations() {
		for _, result := range rules.SoFar(judges, conv.Record.From(0), conv.Revision(), o.r.transport()) {
			for _, d := range result.Deviations {
				seen[d.Key(result.Rule, result.Revision, o.r.transport())] = true
			}
		}
	}
	return !slices.ContainsFunc(o.retrying, func(c *candidate) bool { return !seen[c.key] })
}
