package shapes

import (
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const (
	cancelledID = "cancellation.request-id-present"
)

func notificationRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.cancelled-request-id",
			Title:        "a cancellation names its request",
			Requirements: []string{cancelledID},
			Start: rules.WithoutState(rules.Fold{OnMessage: rules.Handlers{rules.Notification(spec.MethodCancelled): func(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
				switch {
				case !isGovernedByRevision(s, obs):
				case hasMember(obs.Message.Params(), "requestId"):
					out.MarkObserved(cancelledID)
				default:
					out.Report(verdict.Deviation{
						Requirement: cancelledID,
						Summary:     "The server's cancellation has no requestId.",
						Permitted:   "the id of a request that is not a task; tasks/cancel cancels tasks",
						Seen:        rules.Excerpt(obs.Message.Raw),
						At:          rules.PositionsOf(obs.Event),
					})
				}
			}}}),
		},
	}
}
