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
	if s.givenUp == nil {
		s.givenUp = map[int]bool{}
	}
	s.givenUp[e.Of] = true
	if s.InputClosed || s.OutputEnded || s.sessionEnded {
		return
	}
	for _, a := range s.requests {
		if a.Event.Seq == e.Of && !s.over(a) {
			s.overdue(a, e)
		}
	}
}

// noteEnd takes note of what the server left undone when it ended by itself.
// That it ended before the handshake is the handshake's own matter.
func (s *Session) noteEnd(e *transcript.Event) {
	if s.InputClosed || s.OutputEnded {
		return
	}
	for _, a := range s.requests {
		if a != s.Initialize {
			s.overdue(a, e)
		}
	}
}

// overdue holds it against the server that a has no answer by e, where that is
// owed.
func (s *Session) overdue(a *Asked, e *transcript.Event) {
	if !a.due || len(a.Responses) > 0 || a.overdue != nil || s.disorderly || s.Signalled {
		return
	}
	if s.tried(a, e) {
		a.disrupted = true
		return
	}
	a.overdue = e
	a.excusable = s.unruly && !s.outgrown(a)
}

// enough is how many requests a server has answered that was not brought down
// by what it was sent before them.
const enough = 3

// outgrown reports whether what was sent that is illegal has nothing to do with
// the fate of a: all of it was sent before a, what is a request was answered
// if it could be, and so were several legal requests behind the last of it.
func (s *Session) outgrown(a *Asked) bool {
	last := s.illegal[len(s.illegal)-1]
	if last > a.Event.Seq {
		return false
	}
	answered := 0
	for _, b := range s.requests {
		switch {
		case len(b.Responses) == 0 && !b.WellFormed && b.LegalID():
			return false // it may be at work still
		case b.due && b.Event.Seq > last && len(b.Responses) > 0:
			answered++
		}
	}
	return answered >= enough
}

// outlived reports whether a later request was answered: the server had not
// fallen silent when it passed over this one.
func (s *Session) outlived(a *Asked) bool {
	return slices.ContainsFunc(s.requests, func(b *Asked) bool {
		return b.Event.Seq > a.Event.Seq && len(b.Responses) > 0 && b.due
	})
}

// buried reports whether the answer to a may stand in a line that can't be read.
func (s *Session) buried(a *Asked) bool {
	for _, r := range s.lost {
		for _, e := range r.events {
			if e.Seq > a.Event.Seq && mentions(e.Raw, a.Message.ID) {
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
func (s *Session) GaveUpOn(e *transcript.Event) bool { return e != nil && s.givenUp[e.Seq] }

// Unanswered reports whether a response was due to the request and none came:
// that is judged as base.request-answered.
func (a *Asked) Unanswered() bool { return a.overdue != nil }
