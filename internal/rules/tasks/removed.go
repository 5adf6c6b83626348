package tasks

import (
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const removed = "tasks.removed"

// removedRules are on the revision that has made an extension of tasks. Of
// the methods that the extension does not have either, nothing is left.
func removedRules() []rules.Rule {
	judge := func(s *rules.Session, h *rules.Heard, out *rules.Out) {
		if s.Era() != spec.Stateless || !h.Asked.WellFormed {
			return
		}
		if h.Message.IsError() {
			// Other codes may be about the metadata that such a request has.
			if code, _ := h.Message.ErrorCode(); spec.Code(code) == spec.CodeMethodNotFound {
				out.Subject(removed)
			}
			return
		}
		out.Found(verdict.Deviation{
			Requirement: removed,
			Summary:     "The server serves a task method that this revision has removed.",
			Permitted:   "an error with code -32601",
			Seen:        rules.Excerpt(h.Message.Raw),
			At:          rules.At(h.Asked.Event, h.Event),
		})
	}
	hears := rules.Hears{}
	for _, method := range []string{spec.MethodTasksList, spec.MethodTasksResult} {
		hears[rules.ResultOf(method)], hears[rules.ErrorTo(method)] = judge, judge
	}
	return []rules.Rule{{
		ID:           "rule.tasks-removed",
		Title:        "removed task methods are unknown",
		Requirements: []string{removed},
		Start:        rules.Stateless(rules.Fold{Hear: hears}),
	}}
}
