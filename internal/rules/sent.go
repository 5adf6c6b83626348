package rules

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// SentMessages records what the client sent other than requests, and the frames that a server may
// be unable to read or may refuse.
type SentMessages struct {
	last          *wire.Frame           // the last frame that the client sent
	lastButPings  *transcript.Event     // the last frame that is not a ping and was sent before the server's output ended
	notifications []*transcript.Message // those that are well formed
	// illegal are the positions of frames that a receiver need not accept. A receiver may refuse
	// such a frame with an error without an id. A server may also stop responding after it.
	illegal []int
	// garbled are the frames that can't be read with certainty, so that their ids are unknown.
	garbled [][]byte
	// isIncomplete is set if the transcript lacks a part of what the client sent.
	isIncomplete bool
	// batches is the number of batches that the client sent.
	batches int
	// hasMoreThanPings is set if the client sent anything but pings.
	hasMoreThanPings bool
	// unmatchedReplies maps the key of an id to the client's first response with that id that
	// matched no request.
	unmatchedReplies map[string]*transcript.Event

	ending *Ending
}

// HasIllegal reports whether the client sent anything that a receiver need not accept.
func (s *SentMessages) HasIllegal() bool { return len(s.illegal) > 0 }

// MayBeRefused reports whether a receiver may refuse a sent message: a client must not send it, or
// its id is an integer that not every server can represent exactly.
func (s *SentMessages) MayBeRefused(sent *transcript.Event) bool {
	return slices.Contains(s.illegal, sent.Seq) ||
		slices.ContainsFunc(sent.Messages(), func(m wire.Message) bool { return isUnsafeInteger(m.ID) })
}

// HasGarbled reports whether text is in a frame that can't be read with certainty, or may be in
// one that the transcript has only in part.
func (s *SentMessages) HasGarbled(text string) bool {
	return s.isIncomplete || slices.ContainsFunc(s.garbled, func(frame []byte) bool { return strings.Contains(string(frame), text) })
}

// hasGarbledID reports whether the id is in a frame that can't be read with certainty.
func (s *SentMessages) hasGarbledID(id wire.ID) bool {
	return slices.ContainsFunc(s.garbled, func(frame []byte) bool { return mentionsID(frame, id) })
}

// hasIllegalBefore reports whether the client sent, before e, something that a server need not
// accept.
func (s *SentMessages) hasIllegalBefore(e *transcript.Event) bool {
	return len(s.illegal) > 0 && s.illegal[0] < e.Seq
}

// lastNotification returns the last notification that the client sent before e, or nil.
func (s *SentMessages) lastNotification(e *transcript.Event) *transcript.Message {
	var last *transcript.Message
	for _, n := range s.notifications {
		if n.Event.Seq < e.Seq {
			last = n
		}
	}
	return last
}

// answersUnmatchedReply reports whether m is an error with the id of an earlier response of the
// client that matched no request.
func (s *SentMessages) answersUnmatchedReply(e *transcript.Event, m *wire.Message) bool {
	sent := s.unmatchedReplies[m.ID.Key()]
	return sent != nil && sent.Seq < e.Seq && m.IsError()
}

// noteFrame records a frame that the client sent, and reports whether every receiver can read it.
// It must be called before the frame's messages are recorded.
func (s *SentMessages) noteFrame(e *transcript.Event) (sound bool) {
	f := e.Frame
	if f == nil {
		f = wire.Parse(e.Raw)
	}
	s.last = f
	sound = len(f.Problems) == 0 && !e.Unterminated && !e.IsCut()
	s.isIncomplete = s.isIncomplete || e.IsCut()
	if !sound || !f.IsReadable() {
		s.garbled = append(s.garbled, e.Raw)
	}
	if f.Batch {
		s.batches++
	}
	return sound
}

// noteLegality records whether a receiver has to accept the frame of e, and whether the frame is
// anything but a ping.
func (s *SentMessages) noteLegality(e *transcript.Event, legal bool) {
	if !legal {
		s.illegal = append(s.illegal, e.Seq)
	}
	ping := len(s.last.Messages) == 1 && s.last.Messages[0].Method == spec.MethodPing
	if !ping && !s.ending.OutputEnded {
		s.lastButPings = e
	}
	if !legal || !ping {
		s.hasMoreThanPings = true
	}
}

// noteNotification records a notification, and reports whether a receiver has to accept it. sound
// is the result of noteFrame.
func (s *SentMessages) noteNotification(e *transcript.Event, m *wire.Message, sound bool) bool {
	if !sound || !m.HasVersion() || m.Method == "" || !m.HasStructuredParams() {
		return false
	}
	s.notifications = append(s.notifications, &transcript.Message{Message: m, Event: e})
	if slices.ContainsFunc(idSpellings[1:], m.Has) {
		s.garbled = append(s.garbled, e.Raw)
	}
	return true
}

// idSpellings are the spellings that many servers accept as the member name id. These servers
// ignore case, although JSON-RPC says that member names are case-sensitive.
var idSpellings = []string{"id", "Id", "ID", "iD"}

// noteUnmatchedReply records a response that matches no request.
func (s *SentMessages) noteUnmatchedReply(e *transcript.Event, m *wire.Message) {
	if s.unmatchedReplies == nil {
		s.unmatchedReplies = map[string]*transcript.Event{}
	}
	if key := m.ID.Key(); s.unmatchedReplies[key] == nil {
		s.unmatchedReplies[key] = e
	}
}

// mentionsID reports whether text contains an id member with this value, with at most one space
// after the colon.
func mentionsID(text []byte, id wire.ID) bool {
	return id.IsPresent() && slices.ContainsFunc(idSpellings, func(name string) bool {
		return bytes.Contains(text, []byte(`"`+name+`":`+id.Raw())) || bytes.Contains(text, []byte(`"`+name+`": `+id.Raw()))
	})
}
