package rules

import (
	"bytes"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// noteGaveUp takes note of the end of a wait, unless the client itself left the
// server no way to answer.
func (s *Session) noteGaveUp(e *transcript.Event) {
	if s.abandoned == nil {
		s.abandoned = map[int]bool{}
	}
	s.abandoned[e.Of] = true
	if s.InputClosed || s.OutputEnded || s.sessionEnded {
		return
	}
	for _, req := range s.requests {
		if req.Event.Seq == e.Of && !s.over(req) {
			s.overdue(req, e)
		}
	}
}

// noteEnd takes note of what the server left undone when it ended by itself.
// That it ended before the handshake is the handshake's own matter.
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

// overdue holds it against the server that a has no answer by e, where that is
// owed.
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

// enough is how many requests a server has answered that was not brought down
// by what it was sent before them.
const enough = 3

// outgrown reports whether what was sent that is illegal has nothing to do with
// the fate of a: all of it was sent before a, what is a request was answered
// if it could be, and so were several legal requests behind the last of it.
func (s *Session) outgrown(req *Request) bool {
	last := s.illegal[len(s.illegal)-1]
	if last > req.Event.Seq {
		return false
	}
	answered := 0
	for _, b := range s.requests {
		switch {
		case len(b.Responses) == 0 && !b.WellFormed && b.HasLegalID():
			return false // it may be at work still
		case b.due && b.Event.Seq > last && len(b.Responses) > 0:
			answered++
		}
	}
	return answered >= enough
}

// outlived reports whether a later request was answered: the server had not
// fallen silent when it passed over this one.
func (s *Session) outlived(req *Request) bool {
	return slices.ContainsFunc(s.requests, func(b *Request) bool {
		return b.Event.Seq > req.Event.Seq && len(b.Responses) > 0 && b.due
	})
}

// buried reports whether the answer to a may stand in a line that can't be read.
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

// mentions reports whether text has an id member with this value.
func mentions(text []byte, id wire.ID) bool {
	return id.Present() && (bytes.Contains(text, []byte(`"id":`+id.Raw())) || bytes.Contains(text, []byte(`"id": `+id.Raw())))
}

// GaveUpOn reports whether the client waited for the response to what was sent
// at e as long as one may take, and none came.
func (s *Session) GaveUpOn(e *transcript.Event) bool { return e != nil && s.abandoned[e.Seq] }

// Unanswered reports whether a response was due to the request and none came:
// that is judged as base.request-answered.
func (req *Request) Unanswered() bool { return req.overdue != nil }
