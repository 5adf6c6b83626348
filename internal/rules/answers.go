package rules

import (
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/discount"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	requestAnswered        = "base.request-answered"
	responseOnce           = "base.response-once"
	responseIDEcho         = "base.response-id-echo"
	responseUnsolicited    = "base.response-unsolicited"
	errorResponseID        = "base.error-response-id"
	errorResponseIDAlways  = "base.error-response-id-always"
	notificationNoResponse = "base.notification-no-response"
)

func answerRules() []Rule {
	return []Rule{
		{
			ID:           "rule.request-answered",
			Title:        "each request is answered",
			Requirements: []string{requestAnswered},
			Start:        Stateless(Fold{End: unanswered}),
		},
		{
			ID:           "rule.response-once",
			Title:        "no request is answered twice",
			Requirements: []string{responseOnce},
			Start:        Stateless(Fold{End: repeated}),
		},
		{
			ID:    "rule.response-ids",
			Title: "each response has the id of the request that it answers, and answers one",
			Requirements: []string{
				responseIDEcho, responseUnsolicited, errorResponseID, errorResponseIDAlways, notificationNoResponse,
			},
			Start: Stateless(Fold{End: responseIDs}),
		},
	}
}

// unanswered judges at the end, because a response that comes late comes after
// all.
func unanswered(s *Session, out *Out) {
	s.attributed()
	for _, a := range s.All() {
		if len(a.Responses) > 0 {
			if a.due {
				out.Subject(requestAnswered)
			}
			continue
		}
		f := s.factsOf(a)
		switch d := discount.ForRequest(f); {
		case d != nil:
			if f.AfterIllegal {
				out.Elsewhere(requestAnswered)
			}
		case a.overdue.Kind == transcript.OutputClosed:
			out.Found(verdict.Deviation{
				Requirement: requestAnswered,
				Summary:     "The server ends without answering a request.",
				Permitted:   "a result or an error for each request before the server ends by itself",
				Seen:        ending(s, a),
				At:          []int{a.Event.Seq, a.overdue.Seq},
			})
		default:
			out.Found(verdict.Deviation{
				Requirement: requestAnswered,
				Summary:     "The server does not answer a request.",
				Permitted:   "a result or an error",
				Seen:        fmt.Sprintf("no answer to %s with id %s", excerpt(a.Message.Method), excerpt(a.Message.ID.Raw())),
				At:          at(a.Event),
			})
		}
	}
}

// silent reports whether an answer to a was owed and did not come, in no form.
func silent(s *Session, a *Asked) bool {
	return a.overdue != nil && !a.Cancelled && a.mistaken == nil && !s.buried(a)
}

func isPing(a *Asked) bool { return a.Message.Method == spec.MethodPing }

func ending(s *Session, a *Asked) string {
	how := "the server closed its output"
	if s.Exited != nil {
		how = "the server ended (" + excerpt(s.Exited.Detail) + ")"
	}
	return fmt.Sprintf("%s with no answer to %s with id %s", how, excerpt(a.Message.Method), excerpt(a.Message.ID.Raw()))
}

func repeated(s *Session, out *Out) {
	s.attributed()
	for _, a := range s.All() {
		if len(a.Responses) == 0 || !a.LegalID() {
			continue
		}
		out.Subject(responseOnce)
		for i := 1; i < len(a.Responses); i++ {
			if s.garbledMentions(a.Message.ID) {
				break // some of them may answer what could not be read
			}
			out.Found(verdict.Deviation{
				Requirement: responseOnce,
				Summary:     "The server answers a request more than once.",
				Permitted:   "one response",
				Seen:        fmt.Sprintf("response %d to %s with id %s", i+1, excerpt(a.Message.Method), excerpt(a.Message.ID.Raw())),
				At:          at(a.Event, a.Responses[0].Event, a.Responses[i].Event),
			})
		}
	}
}

func (s *Session) garbledMentions(id wire.ID) bool {
	for _, text := range s.garbled {
		if mentions(text, id) {
			return true
		}
	}
	return false
}

func responseIDs(s *Session, out *Out) {
	strays := s.attributed()
	for _, a := range s.All() {
		for _, m := range a.Responses {
			if !m.Has("result") && !m.IsError() {
				continue // no response to speak of
			}
			out.Subject(responseUnsolicited)
			if spelled(a.Message.ID, m.ID) {
				out.Subject(responseIDEcho)
			} else {
				out.Found(verdict.Deviation{
					Requirement: responseIDEcho,
					Summary:     "The server writes an integer id in another form, such as 1.0 for 1.",
					Permitted:   "the id as it was sent; the same number in another form is tolerated",
					Seen:        seenID(a, m.Message),
					At:          at(a.Event, m.Event),
					Weight:      verdict.OnlyNote,
				})
			}
			if m.IsError() && a.WellFormed {
				out.Subject(errorResponseID)
				out.Subject(errorResponseIDAlways)
			}
		}
	}
	for _, r := range strays {
		if d, ok := strayDeviation(r); ok {
			out.Found(d)
			if d.Requirement == errorResponseID {
				d.Requirement = errorResponseIDAlways // the sentence of the older revisions
				out.Found(d)
			}
		}
	}
	s.notified(out)
}

// spelled reports whether an id that was sent as plain digits came back so.
func spelled(sent, got wire.ID) bool {
	return sent == got || !sent.IsInteger() || sent.Raw() != sent.Key()
}

func seenID(a *Asked, m *wire.Message) string {
	return fmt.Sprintf("id %s answered with id %s", excerpt(a.Message.ID.String()), excerpt(m.ID.String()))
}

func strayDeviation(r *stray) (verdict.Deviation, bool) {
	d := verdict.Deviation{At: at(r.event), Seen: excerpt(r.message.Raw)}
	if r.of != nil {
		d.At = at(r.of.Event, r.event)
		d.Seen = seenID(r.of, r.message)
	}
	switch r.class {
	case echoed:
		d.Requirement, d.Summary, d.Permitted = responseIDEcho, "The server's response has another id than the request.", "the id of the request, in type and value"
		if !r.of.LegalID() { // no client may send such a request, so what becomes of it is not counted as a failure
			d.Summary, d.Weight = "The server changes the id of an illegal request.", verdict.AtMostWarning
			d.Permitted = "an error without an id, or with the id of the request, or silence"
		}
	case rounded:
		d.Requirement, d.Summary, d.Permitted = responseIDEcho, "The server changes an integer id beyond 2^53-1.", "the id of the request; half of all servers can't hold so many digits"
		d.Weight = verdict.OnlyNote
	case idless:
		d.Requirement, d.Summary, d.Permitted = errorResponseID, "The server sends an error without the id of a readable request.", "the id of the request; null or none only for a message whose id can't be read"
	case toNotification:
		d.Requirement, d.Summary, d.Permitted = notificationNoResponse, "The server answers a notification.", "no answer"
		d.At = at(r.told.Event, r.event)
		d.Seen = fmt.Sprintf("after %s: %s", excerpt(r.told.Method), excerpt(r.message.Raw))
	case toResponse: // no client may send such a one
		d.Requirement, d.Summary, d.Permitted = responseUnsolicited, "The server answers a response to no request with an error.", "no answer"
		d.Weight = verdict.AtMostWarning
	case unsolicited:
		d.Requirement, d.Summary, d.Permitted = responseUnsolicited, "The server sends a response to no request.", "responses to requests of the client alone"
	default:
		return d, false
	}
	return d, true
}

// notified counts the notifications that had their chance to be answered: a
// later request was.
func (s *Session) notified(out *Out) {
	last := -1
	for _, a := range s.All() {
		if len(a.Responses) > 0 {
			last = max(last, a.Event.Seq)
		}
	}
	for _, n := range s.notifications {
		if n.Event.Seq < last {
			out.Subject(notificationNoResponse)
		}
	}
}
