package rules

import (
	"slices"

	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Session is what can be known of a conversation from its events so far.
// All rules share it.
type Session struct {
	Transport spec.Transport

	asked      spec.Revision
	negotiated spec.Revision
	lines      map[*transcript.Event]*reading

	// dialogue pairs what the rules take for requests and responses, which may
	// be ill-formed, or stand on several lines.
	dialogue transcript.Dialogue
	requests []*Asked // of the client, in their order
	of       map[*transcript.Request]*Asked
	// cancelled are the keys of the ids that the client has cancelled.
	cancelled map[string]bool
	strays    []*stray
	settled   bool // the strays were attributed

	notifications []*transcript.Message // of the client, those that are well formed
	// illegal are the frames sent, by position, that a receiver may refuse
	// without knowing whose id to give back.
	illegal []int
	// garbled are the bytes of those whose id nobody can read for certain.
	garbled [][]byte
	// shortened: not all that the client sent was kept.
	shortened bool
	// lost are lines of the server in which an answer may be buried.
	lost []*reading
	// batches counts the batches sent.
	batches int
	// disorderly: the client did what leaves a server free to fall silent.
	disorderly bool
	// unruly: it sent something illegal, after which a server may have fallen
	// silent; where it answers what comes later, it has not.
	unruly bool
	// beyondPing: the client sent something else than pings.
	beyondPing bool

	// pointless are the first responses of the client that answer nothing, by
	// the key of their id.
	pointless  map[string]*transcript.Event
	sent       *wire.Frame // what the client sent last
	memo       map[any]any // see Memo
	shared     map[Keeper]any
	disruption *Disruption

	// givenUp are the positions of what the client stopped waiting for.
	givenUp map[int]bool
	// sessionEnded: the client ended the session by DELETE.
	sessionEnded bool

	// Initialize is the client's initialize request, nil before it; of
	// several the first that was not refused.
	Initialize *Asked
	// Initialized: the client sent notifications/initialized.
	Initialized bool
	// Reinitialized: it sent initialize once more after that was accepted.
	Reinitialized bool
	// ClientCapabilities are those declared in initialize.
	ClientCapabilities jsontext.Value
	// ServerCapabilities are those of the answer to initialize.
	ServerCapabilities jsontext.Value
	// InputClosed: nothing more is sent.
	InputClosed bool
	// OutputEnded: nothing more can come.
	OutputEnded bool
	// Signalled: the client sent the server a signal.
	Signalled bool
	// Exited is how the process ended, nil before that.
	Exited *transcript.Event
}

// NewSession returns the state of a conversation in which nothing was said.
func NewSession(asked spec.Revision, t spec.Transport) *Session {
	return &Session{
		asked: asked, Transport: t, of: map[*transcript.Request]*Asked{}, cancelled: map[string]bool{}, pointless: map[string]*transcript.Event{},
	}
}

// Revision returns the negotiated revision, or the one asked for where there
// is none, or where the negotiated one is not published. Judge knows it from
// the first event on, so that all of a conversation is judged by one revision.
func (s *Session) Revision() spec.Revision {
	if s.negotiated != "" {
		return s.negotiated
	}
	return s.asked
}

// Requests returns the client's requests with this id, oldest first.
func (s *Session) Requests(id wire.ID) []*Asked { return s.asAsked(s.dialogue.WithID(id)) }

// WithToken returns the client's requests with this progress token, oldest first.
func (s *Session) WithToken(token wire.ID) []*Asked { return s.asAsked(s.dialogue.WithToken(token)) }

func (s *Session) asAsked(all []*transcript.Request) []*Asked {
	var out []*Asked
	for _, r := range all {
		out = append(out, s.of[r])
	}
	return out
}

// All returns the client's requests in the order in which they were sent.
func (s *Session) All() []*Asked { return s.requests }

// Answered returns the request that a response of the server answers by its
// id, or nil.
func (s *Session) Answered(m *wire.Message) *Asked { return s.of[s.dialogue.Of(m)] }

// Unreadable reports whether the client sent anything whose id could not be read.
func (s *Session) Unreadable() bool { return len(s.illegal) > 0 }

// MayBeRefused reports whether a receiver may refuse what was sent: a client must
// not send it, or not every server can hold the number that is its id.
func (s *Session) MayBeRefused(sent *transcript.Event) bool {
	return slices.Contains(s.illegal, sent.Seq) ||
		slices.ContainsFunc(sent.Messages(), func(m wire.Message) bool { return beyondSafe(m.ID) })
}

// reading returns what was read up to a Received event; nil for a line in the
// midst of a message.
func (s *Session) reading(e *transcript.Event) *reading {
	if s.lines == nil {
		return readLine(e)
	}
	return s.lines[e]
}

func (s *Session) note(e *transcript.Event) {
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
	s.shortened = s.shortened || e.IsCut()
	if !sound || !f.Readable() {
		s.garbled = append(s.garbled, e.Raw)
	}
	legal := sound && f.Readable()
	if f.Batch {
		s.batches++
		legal = legal && len(f.Messages) > 0 && s.negotiated.Batches()
	}
	for i := range f.Messages {
		if !s.noteMessage(e, &f.Messages[i], sound, sound && (!f.Batch || s.negotiated.Batches()), f.Batch) {
			legal = false
		}
		s.noteDisruption(e, &f.Messages[i])
	}
	if !legal {
		s.illegal = append(s.illegal, e.Seq)
		s.unruly, s.disruption = true, nil
	}
	if !legal || len(f.Messages) != 1 || f.Messages[0].Method != spec.MethodPing {
		s.beyondPing = true
	}
}

// noteMessage takes note of one message of the client and reports whether a
// receiver has to take it as it is.
func (s *Session) noteMessage(e *transcript.Event, m *wire.Message, sound, framed, batched bool) bool {
	switch m.Kind {
	case wire.Request:
		a := s.asks(e, m)
		a.WellFormed, a.batched, a.sound, a.Cancelled = framed && wellFormed(m), batched, sound, s.cancelled[m.ID.Key()]
		s.place(a)
		return a.WellFormed
	case wire.Notification:
		s.dialogue.NoteNotification(e, m)
		ok := sound && hasVersion(m) && m.Method != "" && structured(m)
		if ok {
			s.notifications = append(s.notifications, &transcript.Message{Message: m, Event: e})
		}
		switch m.Method {
		case spec.MethodInitialized:
			if sound {
				s.disorderly = s.disorderly || s.ServerCapabilities == nil && s.Revision().Era() == spec.Handshake
				s.Initialized = true
			}
		case spec.MethodCancelled:
			s.cancelled[namedBy(m).Key()] = true
			for _, a := range s.Requests(namedBy(m)) {
				a.Cancelled = true
			}
		}
		return ok
	case wire.Response:
		return s.noteReply(e, m)
	default:
		if m.ID.Present() {
			s.asks(e, m).sound = sound
		}
		return false
	}
}

// place notes where in the course of the conversation a request stands.
func (s *Session) place(a *Asked) {
	accepted := s.Initialize != nil && s.Initialize.Succeeded()
	a.opened = accepted && s.Initialized || s.Revision().Era() == spec.Stateless
	switch {
	case s.Revision().Era() == spec.Stateless:
		a.due = a.Message.Method != "subscriptions/listen"
	case a.Message.Method == spec.MethodInitialize && a.sound && !accepted:
		if s.Initialize != nil && len(s.Initialize.Responses) == 0 && !s.Initialize.refused {
			s.disorderly = true
			return
		}
		s.Initialize, a.due = a, true
		s.ClientCapabilities = wire.At(a.Message.Params(), "/capabilities")
		s.disorderly = s.disorderly || a.batched
	case a.Message.Method == spec.MethodInitialize:
		s.disorderly, s.Reinitialized = true, true // what follows a second initialize is not regulated
	case accepted && a.Message.Method == spec.MethodPing:
		a.due, a.early = true, !s.Initialized
	case accepted:
		a.due = s.Initialized
	}
	a.due = a.due && a.WellFormed && !a.reused && !a.batched && !beyondSafe(a.Message.ID)
}

// asks notes a request of the client, or what may be taken for one.
func (s *Session) asks(e *transcript.Event, m *wire.Message) *Asked {
	reused := len(s.dialogue.WithID(m.ID)) > 0
	a := &Asked{Request: s.dialogue.NoteRequest(e, m), reused: reused}
	s.requests = append(s.requests, a)
	s.of[a.Request] = a
	return a
}

func (s *Session) noteReading(e *transcript.Event, got *reading) {
	if got.shape == foreign || got.shape == truncated || got.shape == unread {
		s.lost = append(s.lost, got)
	}
	for _, m := range got.messages {
		if !isAnswer(m) {
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
		a := s.of[s.dialogue.NoteResponse(e, m)]
		if a == nil {
			s.strays = append(s.strays, &stray{event: e, message: m})
			continue
		}
		s.borne(a)
		if a == s.Initialize && m.Has("result") && s.ServerCapabilities == nil {
			s.learn(m)
		}
	}
}

func (s *Session) learn(m *wire.Message) {
	s.ServerCapabilities = wire.At(m.Result(), "/capabilities")
	if s.ServerCapabilities == nil {
		s.ServerCapabilities = jsontext.Value("{}")
	}
	version, _ := wire.Text(wire.At(m.Result(), "/protocolVersion"))
	if r := spec.Revision(version); r.Published() && r.Era() == spec.Handshake {
		s.negotiated = r
	}
}

// isAnswer reports whether m means to answer a request, well done or not.
func isAnswer(m *wire.Message) bool {
	switch m.Kind {
	case wire.Response:
		return true
	case wire.Request: // its method was copied into the answer
		return m.Has("result") || m.Has("error")
	case wire.Invalid:
		return m.ID.Present()
	default:
		return false
	}
}

// declared looks a capability up in those of one side.
func declared(capabilities jsontext.Value, capability string) bool {
	v := wire.At(capabilities, "/"+strings.ReplaceAll(capability, ".", "/"))
	return v != nil && v.Kind() != 'f' && v.Kind() != 'n'
}
