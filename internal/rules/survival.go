package rules

import (
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Disruption is a message of the client that may name something unknown to the server: a
// cancellation, progress, or a response to a request that the server has cancelled. It lasts
// until a later ping is answered or the client sends another request. If the server ends or stops
// responding during a disruption, that is judged by rules of its own, not by those on requests.
type Disruption struct {
	Event   *transcript.Event
	Message *wire.Message
	// Cancelled is the client's newest request with the id that a cancellation names; nil if
	// there is none.
	Cancelled *Request
	// Posed is the server's request for which the response came too late; nil for notifications.
	Posed *transcript.Request
	// Before is the disruption that still lasted when this one began, or nil.
	Before *Disruption
	// Mixed is set if another notification was sent after it, which may be the cause instead.
	Mixed bool
}

// Disruption returns the current disruption, or nil.
func (s *Session) Disruption() *Disruption { return s.disruption }

// noteDisruption records a message of the client that may begin or end a disruption.
func (s *Session) noteDisruption(e *transcript.Event, m *wire.Message) {
	if m.Kind == wire.Request && (m.Method == spec.MethodPing || m.Method == spec.MethodDiscover) {
		return
	}
	o := &Disruption{Event: e, Message: m, Before: s.disruption}
	switch {
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
			return // a response that the server waits for does no harm
		}
	default:
		s.disruption = nil
		return
	}
	if busy(s) { // another request in progress may be the cause of anything that happens
		o = nil
	}
	s.disruption = o
}

// borne ends the disruption when a request that was sent after it is answered.
func (s *Session) borne(req *Request) {
	if s.disruption != nil && req.Event.Seq > s.disruption.Event.Seq {
		s.disruption = nil
	}
}

// tried reports whether a disruption may be the reason that the request has no response up to e:
// the server ended, or the request was sent after the disruption.
func (s *Session) tried(req *Request, e *transcript.Event) bool {
	return s.disruption != nil && (e.Kind != transcript.GaveUp || req.Event.Seq > s.disruption.Event.Seq)
}

// namedBy returns the id that a cancellation names.
func namedBy(m *wire.Message) wire.ID {
	return m.ParamIDAt("/requestId")
}

// Garbled reports whether text is in a frame of the client that can't be read with certainty, or
// may be in one that the transcript has only in part.
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
