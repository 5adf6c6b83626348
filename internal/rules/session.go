package rules

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Session is the state of a conversation after the events so far. All rules share it. Each part
// has one purpose; a part that needs others has pointers to them. The session itself only passes
// each event to the parts that it concerns.
type Session struct {
	Transport spec.Transport

	Requests    // what was requested, and each response
	Negotiation // the revision and the capabilities
	Versions    // stateless era: the messages to which the revision applies
	Ending      // what can still be sent

	Sent        SentMessages   // what the server may be unable to read
	Waits       Waits          // which responses are missing
	Disruptions Disruptions    // messages at which the server may wrongly stop responding
	Headers     RequestHeaders // stateless era: which headers a request must have
	Rounds      Rounds         // stateless era: which input the server required

	output    output             // each line that the server wrote
	unmatched unmatchedResponses // the responses that match no request
	cache     cache              // what rules share
}

// newSession returns the state of an empty conversation.
func newSession(asked spec.Revision, t spec.Transport) *Session {
	s := &Session{Transport: t}
	s.Negotiation.requested = asked
	s.Versions = Versions{transport: t, requests: &s.Requests, negotiation: &s.Negotiation}
	s.Disruptions.requests = &s.Requests
	s.Sent.ending = &s.Ending
	s.Waits = Waits{
		transport: t, requests: &s.Requests, negotiation: &s.Negotiation, ending: &s.Ending, sent: &s.Sent, disruptions: &s.Disruptions,
	}
	s.Headers = RequestHeaders{transport: t, requests: &s.Requests}
	s.Rounds = Rounds{requests: &s.Requests, negotiation: &s.Negotiation}
	s.unmatched = unmatchedResponses{requests: &s.Requests, sent: &s.Sent, negotiation: &s.Negotiation}
	return s
}

func (s *Session) noteEvent(e *transcript.Event) {
	s.noteExchange(e)
	if e.Kind != transcript.Sent && e.Kind != transcript.Requested {
		s.Requests.burst++
	}
	switch e.Kind {
	case transcript.Sent:
		s.noteSent(e)
	case transcript.Received:
		s.noteReceived(e)
	case transcript.OutputClosed:
		s.Waits.noteEnd(e)
	case transcript.Flooded:
		s.Waits.noteFlood(e)
	case transcript.GaveUp:
		s.Waits.noteGaveUp(e)
	}
	s.Ending.note(e)
}

// noteExchange records the events of an HTTP exchange.
func (s *Session) noteExchange(e *transcript.Event) {
	s.Requests.dialogue.NoteExchange(e)
	x := s.Exchanges().Of(e)
	switch {
	case x == nil:
	case e.Kind == transcript.Responded && x.Status() >= 300, e.Kind == transcript.Over && e.How == transcript.Unreachable:
		for _, req := range s.RequestsPostedIn(x) { // the HTTP status is the response
			req.refused, req.due = true, false
		}
	case e.Kind == transcript.Responded && x.Method() == "DELETE" && x.Succeeded():
		s.Ending.sessionEnded = true
	case e.Kind == transcript.Over && e.How == transcript.Complete && s.Era() == spec.Stateless && x.Succeeded() && x.IsStream():
		for _, req := range s.RequestsPostedIn(x) { // there is no other stream on which the response could come
			s.Waits.noteOverdue(req, e)
		}
	}
}

func (s *Session) noteSent(e *transcript.Event) {
	sound := s.Sent.noteFrame(e)
	f := s.Sent.last
	framed := sound && (!f.Batch || s.Negotiation.negotiated.HasBatches())
	legal := framed && f.IsReadable() && (!f.Batch || len(f.Messages) > 0)
	for i := range f.Messages {
		m := &f.Messages[i]
		if !s.noteMessage(e, m, sound, framed) {
			legal = false
		}
		s.Disruptions.note(e, m)
	}
	s.Sent.noteLegality(e, legal)
	if !legal {
		s.Disruptions.Current = nil
	}
}

// noteMessage records a message of the client, and reports whether a receiver has to accept it.
// sound is the result of noteFrame. framed is set if, in addition, the revision permits batches or
// the message is not in one.
func (s *Session) noteMessage(e *transcript.Event, m *wire.Message, sound, framed bool) bool {
	switch m.Kind {
	case wire.Request:
		req := s.Requests.noteRequest(e, m, s.Era())
		req.isStrictJSON, req.WellFormed = sound, framed && m.IsWellFormedRequest()
		req.batched, req.idCancelled = s.Sent.last.Batch, s.Requests.cancelled[m.ID.Key()]
		s.notePhase(req)
		return req.WellFormed
	case wire.Notification:
		s.Requests.noteNotification(e, m)
		if m.Method == spec.MethodInitialized && sound {
			s.Negotiation.noteInitialized()
		}
		return s.Sent.noteNotification(e, m, sound)
	case wire.Response:
		if s.Requests.noteReply(e, m) {
			return true
		}
		s.Sent.noteUnmatchedReply(e, m)
		return false
	default:
		if m.ID.IsPresent() {
			s.Requests.noteRequest(e, m, s.Era()).isStrictJSON = sound
		}
		return false
	}
}

// notePhase records the phase of the conversation in which a request was sent.
func (s *Session) notePhase(req *Request) {
	if s.Era() == spec.Stateless {
		s.Headers.noteRequest(req)
		s.Negotiation.noteCapabilities(req)
		s.Versions.notePhase(req)
	} else {
		s.Negotiation.notePhase(req)
	}
	req.due = req.due && req.WellFormed && !req.reused && !req.batched && !isUnsafeInteger(req.Message.ID)
}

func (s *Session) noteReceived(e *transcript.Event) {
	got := s.output.note(e)
	if got == nil {
		return
	}
	for _, m := range got.messages {
		switch {
		case !isResponse(m) && m.Kind == wire.Request:
			s.Requests.dialogue.NoteRequest(e, m)
		case !isResponse(m):
			s.Requests.dialogue.NoteNotification(e, m)
		case !s.isRefusal(e, m):
			s.noteResponse(e, m)
		}
	}
}

// noteResponse records a response of the server.
func (s *Session) noteResponse(e *transcript.Event, m *wire.Message) {
	req := s.Requests.clientRequestOf(s.Requests.dialogue.NoteResponse(e, m))
	if req == nil {
		s.unmatched.note(e, m)
		return
	}
	s.Disruptions.noteResponse(req)
	switch {
	case !m.Has("result") && m.IsError() && s.Era() == spec.Stateless:
		s.Versions.noteError(req, m)
	case !m.Has("result"):
	case req == s.Initialize && s.ServerCapabilities == nil:
		s.Negotiation.noteInitializeResult(m)
	case s.Era() == spec.Stateless:
		s.noteStatelessResult(req, m)
	}
}

// noteStatelessResult records what a result in the stateless era shows about the server.
func (s *Session) noteStatelessResult(req *Request, m *wire.Message) {
	s.Versions.noteResult(req)
	switch {
	case req.Message.Method == spec.MethodDiscover && s.AppliesTo(req):
		s.Negotiation.noteDeclaration(req, m)
		s.Versions.noteSupported(m)
	case req.Message.Method == spec.MethodToolsList && s.AppliesTo(req):
		s.Headers.noteTools(m)
	}
}

// isRefusal reports whether m is an error in an HTTP response whose status refuses the POST, so
// that the error says nothing about the request itself: the session may be over, or the origin not
// allowed. In the handshake era, every 4xx or 5xx status refuses the POST, because no JSON-RPC
// error requires such a status. In the stateless era, only a status that may refuse the client,
// such as 403, refuses the POST. isRefusal also returns true for an error without the id of a
// posted request, if the status is 4xx or 5xx or no request was posted: such an error is judged
// together with its status.
func (s *Session) isRefusal(e *transcript.Event, m *wire.Message) bool {
	x := s.Exchanges().Of(e)
	if x == nil || e.Stream != nil || !m.IsError() {
		return false
	}
	if x.Refused() && (s.Era() == spec.Handshake || transcript.IsAmbiguousStatus(x.Status())) {
		return true
	}
	return !x.HasRequest(m.ID) && (x.Refused() || len(s.RequestsPostedIn(x)) == 0)
}

// isResponse reports whether m is meant to be a response, valid or not.
func isResponse(m *wire.Message) bool {
	switch m.Kind {
	case wire.Response:
		return true
	case wire.Request: // the server may have copied the request's method into its response
		return m.Has("result") || m.Has("error")
	case wire.Invalid:
		return m.ID.IsPresent()
	default:
		return false
	}
}
