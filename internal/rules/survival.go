package rules

import (
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Disruption is a message of the client that may name what the server does not
// know (any more): a cancellation, progress, or an answer to a request that the
// server has cancelled. It lasts until a ping behind it is answered, or the
// client asks something else. If the server ends or falls silent meanwhile,
// that falls on rules of their own, and not on those of requests.
type Disruption struct {
	Event   *transcript.Event
	Message *wire.Message
	// Cancelled is the client's newest request with the id that a cancellation
	// names; nil where there is none.
	Cancelled *Request
	// Posed is the server's request that an answer came too late for; nil for
	// notifications.
	Posed *transcript.Request
	// Before is the disruption that still lasted when this one began, if any.
	Before *Disruption
	// Mixed: another notification was sent behind it, which may be to blame.
	Mixed bool
}

// Disruption returns the one that lasts, if any.
func (s *Session) Disruption() *Disruption { return s.disruption }

// noteDisruption takes note of a message of the client.
func (s *Session) noteDisruption(e *transcript.Event, m *wire.Message) {
	o := &Disruption{Event: e, Message: m, Before: s.disruption}
	switch {
	case m.Kind == wire.Request && (m.Method == spec.MethodPing || m.Method == spec.MethodDiscover):
		return
	case m.Kind == wire.Notification && m.Method == spec.MethodCancelled:
		if all := s.RequestsWithID(namedBy(m)); len(all) > 0 {
			o.Cancelled = all[len(all)-1]
		}
	case m.Kind == wire.Notification && m.Method == spec.MethodProgress:
	case m.Kind == wire.Notification:
		if s.disruption != nil {
			s.disruption.Mixed = true
		}
		return
	case m.Kind == wire.Response:
		o.Posed = s.repliesTo(m)
		if o.Posed == nil || len(o.Posed.Cancellations) == 0 {
			return // what the server waits for does it no harm
		}
	default:
		s.disruption = nil
		return
	}
	if busy(s) { // whatever happens may be the work of another request
		o = nil
	}
	s.disruption = o
}

// borne ends the disruption when a request that was sent behind it is answered.
func (s *Session) borne(req *Request) {
	if s.disruption != nil && req.Event.Seq > s.disruption.Event.Seq {
		s.disruption = nil
	}
}

// tried reports whether a disruption may be the reason for which a was not answered
// up to e: it is, where the server ended, and where a was sent behind it.
func (s *Session) tried(req *Request, e *transcript.Event) bool {
	return s.disruption != nil && (e.Kind != transcript.GaveUp || req.Event.Seq > s.disruption.Event.Seq)
}

// namedBy returns the id that a cancellation names.
func namedBy(m *wire.Message) wire.ID {
	return wire.IDAt(m.Params(), "/requestId")
}

// Garbled reports whether text stands in a frame of the client that nobody can
// read for certain, or may stand in one that was not kept to its end.
func (s *Session) Garbled(text string) bool {
	if s.sentIncomplete {
		return true
	}
	for _, frame := range s.garbled {
		if strings.Contains(string(frame), text) {
			return true
		}
	}
	return false
}
