package stateless

import (
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// removedMethods are the methods of handshake revisions that the stateless era has removed, with
// the requirements on them. Package tasks has those of tasks.
var removedMethods = map[string]string{
	spec.MethodPing:                 "ping.removed",
	spec.MethodSetLevel:             "stateless.removed.logging-setlevel",
	spec.MethodResourcesSubscribe:   "stateless.removed.resources-subscribe",
	spec.MethodResourcesUnsubscribe: "stateless.removed.resources-unsubscribe",
}

const completionRemoved = "elicitation.complete.removed-2026-07-28"

func removedRules() []rules.Rule {
	all := rules.Rule{
		ID:    "rule.methods-removed",
		Title: "methods that this revision has removed are unknown",
		Requirements: []string{
			"ping.removed", "stateless.removed.logging-setlevel", "stateless.removed.resources-subscribe",
			"stateless.removed.resources-unsubscribe",
		},
	}
	handlers := rules.Handlers{}
	for method, requirement := range removedMethods {
		handlers = rules.MergeHandlers(handlers, rules.OnResponse(method, func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
			judgeRemoved(requirement, s, obs, out)
		}))
	}
	all.Start = rules.WithoutState(rules.Fold{OnMessage: handlers})
	return []rules.Rule{all, {
		ID:           "rule.elicitation-complete-removed",
		Title:        "the server sends no notifications/elicitation/complete",
		Requirements: []string{completionRemoved},
		Start: func() rules.Fold {
			served, sent := false, false
			return rules.Fold{
				OnMessage: rules.MergeHandlers(
					rules.Handlers{rules.Notification(spec.MethodElicitDone): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
						if s.Era() == spec.Stateless && !s.MayBeHandshakeMessage(obs.Event) {
							sent = true
							judgeCompletion(obs, out)
						}
					}},
					rules.OnResult("", func(s *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
						served = served || isRegular(s, obs)
					}),
				),
				AtEnd: func(_ *rules.Session, out *rules.Reporter) {
					if served && !sent {
						out.MarkObserved(completionRemoved)
					}
				},
			}
		},
	}}
}

// judgeRemoved judges a request that would be valid if the revision had the method.
func judgeRemoved(requirement string, s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	switch {
	case !isRegular(s, obs):
	case !obs.Message.IsError():
		d := deviationOf(requirement, obs)
		d.Summary, d.Permitted = "The server serves "+obs.Request.Message.Method+", which this revision has removed.", "error -32601"
		out.Report(d)
	case codeOf(obs) == spec.CodeMethodNotFound:
		out.MarkObserved(requirement)
	}
}
