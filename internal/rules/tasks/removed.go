package tasks

import (
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const removed = "tasks.removed"

// removedRules returns the rules for the revision that moved tasks into an extension. They cover
// the methods that the extension does not have.
func removedRules() []rules.Rule {
	judge := func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
		if s.Era() != spec.Stateless || !obs.Request.WellFormed {
			return
		}
		if obs.Message.IsError() {
			// Other codes may be about the metadata of the request.
			if code, _ := obs.Message.ErrorCode(); spec.Code(code) == spec.CodeMethodNotFound {
				out.MarkObserved(removed)
			}
			return
		}
		out.Report(verdict.Deviation{
			Requirement: removed,
			Summary:     "The server serves " + obs.Request.Message.Method + ", which this revision has removed.",
			Permitted:   "error -32601: only an extension has task methods in this revision",
			Seen:        rules.Excerpt(obs.Message.Raw),
			At:          rules.PositionsOf(obs.Request.Event, obs.Event),
		})
	}
	handlers := rules.Handlers{}
	for _, method := range []string{spec.MethodTasksList, spec.MethodTasksResult} {
		handlers[rules.ResultOf(method)], handlers[rules.ErrorTo(method)] = judge, judge
	}
	return []rules.Rule{{
		ID:           "rule.tasks-removed",
		Title:        "removed task methods are unknown",
		Requirements: []string{removed},
		Start:        rules.WithoutState(rules.Fold{OnMessage: handlers}),
	}}
}
