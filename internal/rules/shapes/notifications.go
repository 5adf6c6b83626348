package shapes

import (
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const (
	cancelledID = "cancellation.request-id-present"
)

func notifications() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.cancelled-request-id",
			Title:        "a cancellation names its request",
			Requirements: []string{cancelledID},
			Start: rules.Stateless(rules.Fold{Hear: rules.Hears{rules.Notification(spec.MethodCancelled): func(s *rules.Session, h *rules.Heard, out *rules.Out) {
				switch {
				case !since(s, spec.V20251125):
				case has(h.Message.Params(), "requestId"):
					out.Subject(cancelledID)
				default:
					out.Found(verdict.Deviation{
						Requirement: cancelledID,
						Summary:     "The server's cancellation has no requestId.",
						Permitted:   "the id of a request that is not a task; tasks/cancel cancels tasks",
						Seen:        rules.Excerpt(h.Message.Raw),
						At:          rules.At(h.Event),
					})
				}
			}}}),
		},
	}
}
