package rules

import (
	"bytes"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// noteGaveUp records the end of a wait, unless the client itself left the server no way to
// respond.
func (s *Session) noteGaveUp(e *transcript.Event) {
	if s.abandoned == nil {
		s.abandoned = map[int]bool{}
	}
	s.abandoned[e.Of] = true
	if s.InputClosed || s.OutputEnded || s.sessionEnded {
		return
	}
	for _, req := range s.RequestsFrom(e.Of) {
		if req.Event.Seq != e.Of { // a batch has several requests
			break
		}
		if !s.over(req) {
			s.overdue(req, e)
		}
	}
}

// noteEnd records the requests that the server left unanswered when it ended by itself. A missing
// response to initialize is judged by the rules on the handshake.
func (s *Session) noteEnd(e *transcript.Event) {
	if s.InputClosed || s.OutputEnded {
		return
	}
	for _, req := range s.requests {
		if req != s.Initialize {
			s.overdue(req, e)
		}
	}
}

// overdue marks the request as unanswered at e, if a response was due.
func (s *Session) overdue(req *Request, e *transcript.Event) {
	if !req.due || len(req.Responses) > 0 || req.overdue != nil || s.brokeOrder || s.Signalled {
		return
	}
	if s.tried(req, e) {
		req.disrupted = true
		return
	}
	req.overdue = e
	req.excusable = s.sentIllegal && !s.outgrown(req)
}

// enough is how many responses show that the server survived the illegal messages before them.
const enough = 3

// outgrown reports whether earlier illegal messages cannot be the reason for the missing
// response: all of them came before the request, each illegal request with a legal id was
// answered, and so were several legal requests after the last illegal message.
func (s *Session) outgrown(req *Request) bool {
	last := s.illegal[len(s.illegal)-1]
	if last > req.Event.Seq {
		return false
	}
	answered := 0
	for _, b := range s.requests {
		switch {
		case len(b.Responses) == 0 && !b.WellFormed && b.HasLegalID():
			return false // it may still be in progress
		case b.due && b.Event.Seq > last && len(b.Responses) > 0:
			answered++
		}
	}
	return answered >= enough
}

// outlived reports whether a later request was answered, so that the server was still responsive
// when it skipped this one.
func (s *Session) outlived(req *Request) bool {
	return slices.ContainsFunc(s.requests, func(b *Request) bool {
		return b.Event.Seq > req.Event.Seq && len(b.Responses) > 0 && b.due
	})
}

// buried reports whether the response to the request may be in a line that can't be read.
func (s *Session) buried(req *Request) bool {
	for _, r := range s.unreadableLines {
		for _, e := range r.events {
			if e.Seq > req.Event.Seq && mentions(e.Raw, req.Message.ID) {
				return true
			}
		}
	}
	return false
}

// longResponse is the number of bytes from which on the beginning of a response shows that the
// server was sending it, rather than that it stopped.
const longResponse = 256 << 10

// isUnread reports whether the client did not read a long HTTP response to the request to its end.
func (s *Session) isUnread(req *Request) bool {
	x := s.Exchanges().Of(req.Event)
	return x != nil && (s.flooded[x.Number] || slices.ContainsFunc(x.Body, isUnfinished))
}

// isUnfinished reports whether the event is the beginning of a long body, or of a long event in a
// stream.
func isUnfinished(e *transcript.Event) bool {
	ev := e.StreamEvent()
	return e.Size > longResponse && (e.Unterminated || ev != nil && !ev.Complete())
}

// mentions reports whether text has an id member with this value.
func mentions(text []byte, id wire.ID) bool {
	return id.Present() && (bytes.Contains(text, []byte(`"id":`+id.Raw())) || bytes.Contains(text, []byte(`"id": `+id.Raw())))
}

// GaveUpOn reports whether the client waited for the response to the message sent at e until the
// timeout, and none came.
func (s *Session) GaveUpOn(e *transcript.Event) bool { return e != nil && s.abandoned[e.Seq] }

// Unanswered reports whether a response to the request was due and none came.
// base.request-answered judges that.
func (req *Request) Unanswered() bool { return req.overdue != nil }
