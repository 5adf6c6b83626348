package engine

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// reproducedFunc returns a function that reports whether all candidates of the retry were seen
// again, so that the remaining waits can be skipped. It returns nil, so that no wait is skipped, if
// rules judge none of the candidates, if a case judges one of them (cases judge only at their end),
// or if a response to one client also reached another. A rule about something missing reports only
// at the end, so its waits are never skipped.
func (o *opener) reproducedFunc() func() bool {
	judges := o.retriedRules()
	if len(judges) == 0 || o.s.discounts.MixesResponses() || slices.ContainsFunc(o.rerun.candidates, func(c *candidate) bool { return !hasRule(judges, c.key.Judge) }) {
		return nil
	}
	return func() bool { return o.isReproduced(rules.SoFar, judges, nil) }
}

// mayRecurAtShutdown reports whether a candidate of the retry may still recur while the retry's
// conversations are shut down. observed holds what the retry's cases observed.
func (o *opener) mayRecurAtShutdown(observed []caseObservation) bool {
	return len(o.rerun.candidates) > 0 && (o.s.discounts.MixesResponses() || !o.isReproduced(rules.Judge, o.retriedRules(), observed))
}

// retriedRules returns the rules that judge the candidates of the retry.
func (o *opener) retriedRules() []rules.Rule {
	var out []rules.Rule
	for _, rule := range o.s.o.Rules {
		if slices.ContainsFunc(o.rerun.candidates, func(c *candidate) bool { return c.key.Judge == rule.ID }) {
			out = append(out, rule)
		}
	}
	return out
}

func hasRule(judges []rules.Rule, id string) bool {
	return slices.ContainsFunc(judges, func(rule rules.Rule) bool { return rule.ID == id })
}

// judgeFunc is rules.SoFar or rules.Judge.
type judgeFunc func(all []rules.Rule, events []*transcript.Event, asked spec.Revision, t spec.Transport) []rules.Result

// isReproduced reports whether all candidates of the retry were seen again: by the rules, in the
// conversations so far, or by the cases, in what they observed.
func (o *opener) isReproduced(judge judgeFunc, judges []rules.Rule, observed []caseObservation) bool {
	shown := &unitResult{unit: o.unit, observations: observed}
	for _, conv := range o.conversations() {
		for _, result := range judge(judges, conv.Record.From(0), conv.Revision(), o.s.transport()) {
			shown.ruleResults = append(shown.ruleResults, ruleResult{Result: result, record: conv.Record, during: make([]*suite.Case, len(result.Deviations))})
		}
	}
	seen := map[verdict.Key]bool{}
	for d := range shown.deviations() {
		seen[d.key(o.s.transport())] = true
	}
	return !slices.ContainsFunc(o.rerun.candidates, func(c *candidate) bool { return !seen[c.key] })
}
