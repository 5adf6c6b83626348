package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/headers"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Session is the state of a conversation after the events so far. All rules share it.
type Session struct {
	Transport spec.Transport

	requestedRevision  spec.Revision
	negotiatedRevision spec.Revision
	// applying are the requirements that exist in the revision and transport.
	applying map[string]bool
	lines    map[*transcript.Event]*reading
	// event is the latest event, and current its reading: nearly every rule looks at it.
	event   *transcript.Event
	current *reading

	// dialogue pairs requests and responses, including malformed ones and those that span several
	// lines.
	dialogue transcript.Dialogue
	requests []*Request // of the client, in order
	// cancelled are the keys of the ids that the client has cancelled.
	cancelled        map[string]bool
	strays           []*stray
	straysAttributed bool // the strays were attributed

	notifications []*transcript.Message // of the client, those that are well formed
	// illegal are the positions of sent frames that a receiver may refuse without being able to
	// read their id.
	illegal []int
	// garbled are the sent frames whose id can't be read with certainty.
	garbled [][]byte
	// sentIncomplete is set if the transcript lacks a part of what the client sent.
	sentIncomplete bool
	// unreadableLines are lines of the server that may contain a response.
	unreadableLines []*reading
	// batches counts the batches sent.
	batches int
	// brokeOrder is set if the client did something after which a server may stop responding.
	brokeOrder bool
	// sentIllegal is set if the client sent something illegal, after which a server may have
	// stopped responding. Responses to later requests show that it has not.
	sentIllegal bool
	// sentMoreThanPings is set if the client sent anything but pings.
	sentMoreThanPings bool

	// pointlessReplies are the client's first responses that match no request, by the key of
	// their id.
	pointlessReplies map[string]*transcript.Event
	sent             *wire.Frame // the last frame that the client sent
	memo             map[any]any // see Memo
	results          resultTable
	shared           map[SharedState]any
	disruption       *Disruption

	// In the stateless era: the versions that server/discover lists, the capabilities in the
	// first complete request, the first request that the server served as one of an older
	// revision, whether it refused an initialize without metadata, the arguments that headers
	// mirror, by tool, and the Host of the first request.
	supported         []string
	usualCapabilities jsontext.Value
	servedOlder       *Request
	refusedInitialize bool
	paramHeaders      headers.Tools
	host              string
	rounds            []*Round

	// settled is the number of the first requests that are not pending any more, see busy.
	settled int

	// abandoned are the positions of the messages whose responses the client stopped waiting for.
	abandoned map[int]bool
	// flooded has the numbers of the HTTP exchanges whose response is longer than the client reads.
	flooded map[int]bool
	// sessionEnded is set if the client ended the session by DELETE.
	sessionEnded bool

	// Initialize is the client's initialize request, nil before it. With several, it is the first
	// that was not refused. In the stateless era it stays nil.
	Initialize *Request
	// Declaration is the request whose result has the server's declaration: initialize, or the
	// latest server/discover; nil before the result.
	Declaration *Request
	// Initialized is set if the client sent notifications/initialized.
	Initialized bool
	// Reinitialized is set if the client sent initialize again after it was accepted.
	Reinitialized bool
	// ClientCapabilities are the capabilities in the initialize request.
	ClientCapabilities jsontext.Value
	// ServerCapabilities are the capabilities in the result of the Declaration.
	ServerCapabilities jsontext.Value
	// declared caches the results of ServerDeclared.
	declared map[string]bool
	// InputClosed is set if the client can send nothing more.
	InputClosed bool
	// OutputEnded is set if the server can send nothing more.
	OutputEnded bool
	// Signalled is set if the client sent the server a signal.
	Signalled bool
	// Exited is the event of the process exit, nil before that.
	Exited *transcript.Event
}

// NewSession returns the state of an empty conversation.
func NewSession(asked spec.Revision, t spec.Transport) *Session {
	return &Session{
		requestedRevision: asked, Transport: t, cancelled: map[string]bool{}, pointlessReplies: map[string]*transcript.Event{},
		flooded: map[int]bool{},
	}
}

// Revision returns the negotiated revision, or the requested one if none was negotiated or the
// negotiated one is not published. Judge determines it in advance, so that all of a conversation
// is judged by one revision.
func (s *Session) Revision() spec.Revision {
	if s.negotiatedRevision != "" {
		return s.negotiatedRevision
	}
	return s.requestedRevision
}

// RequestsWithID returns the client's requests with this id, oldest first.
func (s *Session) RequestsWithID(id wire.ID) []*Request { return s.requestsOf(s.dialogue.WithID(id)) }

// RequestsWithToken returns the client's requests with this progress token, oldest first.
func (s *Session) RequestsWithToken(token wire.ID) []*Request {
	return s.requestsOf(s.dialogue.WithToken(token))
}

func (s *Session) requestsOf(all []*transcript.Request) []*Request {
	var out []*Request
	for _, r := range all {
		out = append(out, s.requestOf(r))
	}
	return out
}

// requestOf returns the client's request of the dialogue; nil if r is nil or the server's.
func (s *Session) requestOf(r *transcript.Request) *Request {
	if r == nil || r.Event.Kind != transcript.Sent {
		return nil
	}
	return s.requests[r.Index]
}

// ClientRequests returns the client's requests in the order in which they were sent.
func (s *Session) ClientRequests() []*Request { return s.requests }

// RequestsFrom returns the client's requests that were sent at this position or later.
func (s *Session) RequestsFrom(seq int) []*Request {
	first, _ := slices.BinarySearchFunc(s.requests, seq, func(req *Request, seq int) int { return cmp.Compare(req.Event.Seq, seq) })
	return s.requests[first:]
}

// RequestAnsweredBy returns the client's request with the id of the response, or nil.
func (s *Session) RequestAnsweredBy(m *wire.Message) *Request {
	return s.requestOf(s.dialogue.Of(m))
}

// SentUnreadableID reports whether the client sent anything whose id could not be read.
func (s *Session) SentUnreadableID() bool { return len(s.illegal) > 0 }

// MayBeRefused reports whether a receiver may refuse a sent message: a client must not send it,
// or its id is a number that not every server can hold.
func (s *Session) MayBeRefused(sent *transcript.Event) bool {
	return slices.Contains(s.illegal, sent.Seq) ||
		slices.ContainsFunc(sent.Messages(), func(m wire.Message) bool { return beyondSafe(m.ID) })
}

// reading returns the reading that ends with a Received event; nil if the event is an earlier
// line of a message.
func (s *Session) reading(e *transcript.Event) *reading {
	switch {
	case e == s.event:
		return s.current
	case s.lines == nil:
		return readLine(e)
	default:
		return s.lines[e]
	}
}

func (s *Session) noteEvent(e *transcript.Event) {
	if e.Kind == transcript.Received {
		s.event, s.current = e, s.reading(e)
	}
	s.noteExchange(e)
	switch e.Kind {
	case transcript.Sent:
		s.noteSent(e)
	case transcript.Received:
		if got := s.reading(e); got != nil {
			s.noteReading(e, got)
		}
	case transcript.InputClosed:
		s.InputClosed = true
	case transcript.Signalled:
		s.Signalled = true
	case transcript.OutputClosed:
		s.noteEnd(e)
		s.OutputEnded = true
	case transcript.Flooded:
		s.OutputEnded = s.OutputEnded || e.Exchange == 0
		s.flooded[e.Exchange] = true
	case transcript.Exited:
		s.Exited = e
	case transcript.GaveUp:
		s.noteGaveUp(e)
	}
}

func (s *Session) noteSent(e *transcript.Event) {
	f := e.Frame
	if f == nil {
		f = wire.Parse(e.Raw)
	}
	s.sent = f
	sound := len(f.Problems) == 0 && !e.Unterminated && !e.IsCut()
	s.sentIncomplete = s.sentIncomplete || e.IsCut()
	if !sound || !f.Readable() {
		s.garbled = append(s.garbled, e.Raw)
	}
	legal := sound && f.Readable()
	if f.Batch {
		s.batches++
		legal = legal && len(f.Messages) > 0 && s.negotiatedRevision.Batches()
	}
	for i := range f.Messages {
		if !s.noteMessage(e, &f.Messages[i], sound, sound && (!f.Batch || s.negotiatedRevision.Batches()), f.Batch) {
			legal = false
		}
		s.noteDisruption(e, &f.Messages[i])
	}
	if !legal {
		s.illegal = append(s.illegal, e.Seq)
		s.sentIllegal, s.disruption = true, nil
	}
	if !legal || len(f.Messages) != 1 || f.Messages[0].Method != spec.MethodPing {
		s.sentMoreThanPings = true
	}
}

// noteMessage records a message of the client and reports whether a receiver has to accept it.
func (s *Session) noteMessage(e *transcript.Event, m *wire.Message, sound, framed, batched bool) bool {
	switch m.Kind {
	case wire.Request:
		req := s.noteRequest(e, m)
		req.WellFormed, req.batched, req.isStrictJSON, req.Cancelled = framed && isWellFormed(m), batched, sound, s.cancelled[m.ID.Key()]
		s.notePhase(req)
		return req.WellFormed
	case wire.Notification:
		s.dialogue.NoteNotification(e, m)
		ok := sound && hasVersion(m) && m.Method != "" && hasStructuredParams(m)
		if ok {
			s.notifications = append(s.notifications, &transcript.Message{Message: m, Event: e})
		}
		switch m.Method {
		case spec.MethodInitialized:
			if sound {
				s.brokeOrder = s.brokeOrder || s.ServerCapabilities == nil && s.Revision().Era() == spec.Handshake
				s.Initialized = true
			}
		case spec.MethodCancelled:
			s.cancelled[namedBy(m).Key()] = true
			for _, req := range s.RequestsWithID(namedBy(m)) {
				req.Cancelled = true
			}
		}
		return ok
	case wire.Response:
		return s.noteReply(e, m)
	default:
		if m.ID.Present() {
			s.noteRequest(e, m).isStrictJSON = sound
		}
		return false
	}
}

// notePhase records the phase of the conversation in which a request was sent.
func (s *Session) notePhase(req *Request) {
	accepted := s.Initialize != nil && s.Initialize.Succeeded()
	req.whileOpen = accepted && s.Initialized
	switch {
	case s.Revision().Era() == spec.Stateless:
		s.noteStateless(req)
	case req.Message.Method == spec.MethodInitialize && req.isStrictJSON && !accepted:
		if s.Initialize != nil && len(s.Initialize.Responses) == 0 && !s.Initialize.refused {
			s.brokeOrder = true
			return
		}
		s.Initialize, req.due = req, true
		s.ClientCapabilities = req.Message.ParamAt("/capabilities")
		s.brokeOrder = s.brokeOrder || req.batched
	case req.Message.Method == spec.MethodInitialize:
		s.brokeOrder, s.Reinitialized = true, true // what follows a second initialize is not regulated
	case accepted && req.Message.Method == spec.MethodPing:
		req.due, req.beforeInitialized = true, !s.Initialized
	case accepted:
		req.due = s.Initialized
	}
	req.due = req.due && req.WellFormed && !req.reused && !req.batched && !beyondSafe(req.Message.ID)
}

// noteRequest records a request of the client, or a message that may be taken for one.
func (s *Session) noteRequest(e *transcript.Event, m *wire.Message) *Request {
	reused := len(s.dialogue.WithID(m.ID)) > 0
	req := &Request{Request: s.dialogue.NoteRequest(e, m), reused: reused}
	if s.Era() == spec.Stateless {
		req.Metadata = metadataOf(m)
	}
	s.requests = append(s.requests, req)
	return req
}

func (s *Session) noteReading(e *transcript.Event, got *reading) {
	if got.shape == foreign || got.shape == truncated || got.shape == unread {
		s.unreadableLines = append(s.unreadableLines, got)
	}
	for _, m := range got.messages {
		if !isResponse(m) {
			if m.Kind == wire.Request {
				s.dialogue.NoteRequest(e, m)
			} else {
				s.dialogue.NoteNotification(e, m)
			}
			continue
		}
		if s.refusal(e, m) {
			continue
		}
		req := s.requestOf(s.dialogue.NoteResponse(e, m))
		if req == nil {
			s.strays = append(s.strays, &stray{event: e, message: m})
			continue
		}
		s.borne(req)
		switch {
		case !m.Has("result") && m.IsError() && s.Era() == spec.Stateless:
			s.noteStatelessError(req, m)
		case !m.Has("result"):
		case req == s.Initialize && s.ServerCapabilities == nil:
			s.noteInitializeResult(m)
		case s.Era() == spec.Stateless:
			s.noteStatelessResult(req, m)
		}
	}
}

func (s *Session) noteInitializeResult(m *wire.Message) {
	s.Declaration = s.Initialize
	s.noteServerCapabilities(m)
	version, _ := wire.Text(m.ResultAt("/protocolVersion"))
	if r := spec.Revision(version); r.Published() && r.Era() == spec.Handshake {
		s.negotiatedRevision = r
	}
}

// noteServerCapabilities records the capabilities in the result of initialize or server/discover.
func (s *Session) noteServerCapabilities(m *wire.Message) {
	s.ServerCapabilities, s.declared = m.ResultAt("/capabilities"), map[string]bool{}
	if s.ServerCapabilities == nil {
		s.ServerCapabilities = jsontext.Value("{}")
	}
}

// isResponse reports whether m is meant to be a response, valid or not.
func isResponse(m *wire.Message) bool {
	switch m.Kind {
	case wire.Response:
		return true
	case wire.Request: // its method was copied into the response
		return m.Has("result") || m.Has("error")
	case wire.Invalid:
		return m.ID.Present()
	default:
		return false
	}
}

// hasCapability reports whether the capabilities of one side include a capability.
func hasCapability(capabilities jsontext.Value, capability string) bool {
	v := wire.At(capabilities, "/"+strings.ReplaceAll(capability, ".", "/"))
	return v != nil && v.Kind() != 'f' && v.Kind() != 'n'
}
