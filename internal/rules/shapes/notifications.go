package shapes

import (
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	progressMessage = "progress.message-useful"
	cancelledID     = "cancellation.request-id-present"
)

func notifications() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.progress-message",
			Title:        "a message on progress says something",
			Requirements: []string{progressMessage},
			Start: rules.Stateless(rules.Fold{Hear: rules.Hears{rules.Notification(spec.MethodProgress): func(s *rules.Session, h *rules.Heard, out *rules.Out) {
				message, ok := wire.Text(wire.At(h.Message.Params(), "/message"))
				switch {
				case !ok || !since(s, spec.V20250326):
				case strings.TrimSpace(message) != "":
					out.Subject(progressMessage)
				default:
					out.Found(verdict.Deviation{
						Requirement: progressMessage,
						Summary:     "The message of a progress notification is empty.",
						Permitted:   "a text that tells a person something, or no message",
						Seen:        rules.Excerpt(h.Message.Raw),
						At:          rules.At(h.Event),
					})
				}
			}}}),
		},
		{
			ID:           "rule.cancelled-request-id",
			Title:        "a cancellation says what is cancelled",
			Requirements: []string{cancelledID},
			Start: rules.Stateless(rules.Fold{Hear: rules.Hears{rules.Notification(spec.MethodCancelled): func(s *rules.Session, h *rules.Heard, out *rules.Out) {
				switch {
				case !since(s, spec.V20251125):
				case has(h.Message.Params(), "requestId"):
					out.Subject(cancelledID)
				default:
					out.Found(verdict.Deviation{
						Requirement: cancelledID,
						Summary:     "A cancellation has no requestId.",
						Permitted:   "the id of the request; tasks are cancelled by tasks/cancel",
						Seen:        rules.Excerpt(h.Message.Raw),
						At:          rules.At(h.Event),
					})
				}
			}}}),
		},
	}
}
