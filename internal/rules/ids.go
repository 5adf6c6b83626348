package rules

import (
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	requestIDType    = "base.request-id-type"
	requestIDNotNull = "base.request-id-not-null"
	requestIDUnique  = "base.request-id-unique-per-session"
	notificationNoID = "base.notification-no-id"
)

func idRules() []Rule {
	return []Rule{
		{
			ID:           "rule.request-ids",
			Title:        "the server's requests have valid, unused ids",
			Requirements: []string{requestIDType, requestIDNotNull, requestIDUnique},
			Start: func() Fold {
				used := map[string]*transcript.Event{}
				return onMessage(func(s *Session, e *transcript.Event, m *wire.Message, out *Reporter) {
					judgeRequestID(s, used, e, m, out)
				})
			},
		},
		{
			ID:           "rule.notification-no-id",
			Title:        "notifications have no id",
			Requirements: []string{notificationNoID},
			Start:        WithoutState(onMessage(judgeNotificationID)),
		},
	}
}

// asksClient reports whether m is a request of the server, whatever its id.
func asksClient(m *wire.Message) bool {
	if isResponse(m) || spec.IsNotification(m.Method) {
		return false
	}
	return m.Kind == wire.Request && m.Method != "" || m.Kind == wire.Notification && isServerRequest(m.Method)
}

func judgeRequestID(s *Session, used map[string]*transcript.Event, e *transcript.Event, m *wire.Message, out *Reporter) {
	if !asksClient(m) || s.reinitialized {
		return // what follows a second initialize is not regulated
	}
	d := verdict.Deviation{At: positionsOf(e), Seen: excerpt(m.Raw)}
	switch {
	case m.ID.IsNull():
		d.Requirement, d.Summary, d.Permitted = requestIDNotNull, "The server sends a request whose id is null.", "a string or an integer as id"
		out.Report(d)
		out.MarkReportedElsewhere(requestIDType)
		return
	case !m.ID.IsPresent():
		d.Requirement, d.Summary, d.Permitted = requestIDType, "The server sends a request without an id.", "a string or an integer as id"
		out.Report(d)
		return
	case !m.ID.IsLegal():
		d.Requirement, d.Summary, d.Permitted = requestIDType, "The server's request has an id that is not a string or an integer.", "a string or an integer as id"
		out.Report(d)
		return
	}
	out.MarkObserved(requestIDType)
	out.MarkObserved(requestIDNotNull)
	key := m.ID.Key()
	if isSessionless(s, e) {
		key = fmt.Sprintf("%d %s", e.Exchange, key)
	}
	if first := used[key]; first != nil {
		d.Requirement, d.Summary, d.Permitted = requestIDUnique, "The server uses a request id twice.", "an id that the server has not yet used in this session"
		d.At = []int{first.Seq, e.Seq}
		out.Report(d)
		return
	}
	used[key] = e
	out.MarkObserved(requestIDUnique)
}

func judgeNotificationID(_ *Session, e *transcript.Event, m *wire.Message, out *Reporter) {
	switch {
	case isResponse(m):
	case m.Kind == wire.Request && spec.IsNotification(m.Method):
		out.Report(verdict.Deviation{
			Requirement: notificationNoID,
			Summary:     "The server's notification has an id.",
			Permitted:   "a notification without an id member",
			Seen:        excerpt(m.Raw),
			At:          positionsOf(e),
		})
	case m.Kind == wire.Notification && !asksClient(m):
		out.MarkObserved(notificationNoID)
	}
}

// isSessionless reports whether neither the request nor the response of the event's exchange has a
// session id, so that it is unknown which messages belong together. It returns false over other
// transports than Streamable HTTP.
func isSessionless(s *Session, e *transcript.Event) bool {
	x := s.Exchanges().Of(e)
	return x != nil && s.Transport == spec.StreamableHTTP && !x.RequestHead().Has("Mcp-Session-Id") && !x.ResponseHead().Has("Mcp-Session-Id")
}
