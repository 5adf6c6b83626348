package rules

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Asked is a request of the client.
type Asked struct {
	Event   *transcript.Event
	Message *wire.Message
	// WellFormed: a receiver has no reason in JSON-RPC to refuse it.
	WellFormed bool
	Answers    []*transcript.Event
}

// Session is what can be known of a conversation from its events so far.
// All rules share it.
type Session struct {
	Transport spec.Transport

	asked      spec.Revision
	negotiated spec.Revision

	// Requests of the client by the key of their id, oldest first.
	requests map[string][]*Asked
	order    []*Asked
	// unreadable counts the frames sent whose id nobody could read; each
	// may provoke an error without a usable id.
	unreadable int
	// batches counts the batches sent.
	batches int

	// Initialize is the client's first initialize request, nil before it.
	Initialize *Asked
	// Initialized: the client sent notifications/initialized.
	Initialized bool
	// ClientCapabilities are those declared in initialize.
	ClientCapabilities jsontext.Value
	// ServerCapabilities are those of the answer to initialize.
	ServerCapabilities jsontext.Value
	// InputClosed: nothing more is sent.
	InputClosed bool
	// OutputEnded: nothing more can come.
	OutputEnded bool
}

// NewSession returns the state of a conversation in which nothing was said.
func NewSession(asked spec.Revision, t spec.Transport) *Session {
	return &Session{asked: asked, Transport: t, requests: map[string][]*Asked{}}
}

// Revision returns the negotiated revision, or the one asked for until there
// is one, or where the negotiated one is not published.
func (s *Session) Revision() spec.Revision {
	if s.negotiated != "" {
		return s.negotiated
	}
	return s.asked
}

// Requests returns the client's requests with this id, oldest first.
func (s *Session) Requests(id wire.ID) []*Asked { return s.requests[id.Key()] }

// All returns the client's requests in the order in which they were sent.
func (s *Session) All() []*Asked { return s.order }

// Unreadable tells whether the client sent anything whose id could not be read.
func (s *Session) Unreadable() bool { return s.unreadable > 0 }

func (s *Session) note(e *transcript.Event) {
	switch e.Kind {
	case transcript.Sent:
		s.noteSent(e)
	case transcript.Received:
		for i := range e.Frame.Messages {
			s.noteReceived(e, &e.Frame.Messages[i])
		}
	case transcript.InputClosed:
		s.InputClosed = true
	case transcript.OutputClosed, transcript.Flooded:
		s.OutputEnded = true
	}
}

func (s *Session) noteSent(e *transcript.Event) {
	sound := len(e.Frame.Problems) == 0 && !e.Unterminated
	if !e.Frame.Readable() || !sound || e.Frame.Batch && len(e.Frame.Messages) == 0 {
		s.unreadable++
	}
	if e.Frame.Batch {
		s.batches++
	}
	for i := range e.Frame.Messages {
		m := &e.Frame.Messages[i]
		if !m.ID.Present() || m.Kind != wire.Request {
			if m.Kind == wire.Notification && m.Method == spec.MethodInitialized && sound {
				s.Initialized = true
			}
			if m.Kind == wire.Invalid {
				s.unreadable++
			}
			if m.Kind == wire.Invalid && m.ID.Present() {
				s.remember(&Asked{Event: e, Message: m})
			}
			continue
		}
		a := &Asked{Event: e, Message: m, WellFormed: sound && wellFormed(m) && (!e.Frame.Batch || s.Revision().Batches())}
		if !(m.ID.IsString() || m.ID.IsInteger()) {
			s.unreadable++ // an id of no legal type can't be given back
		}
		s.remember(a)
		if m.Method == spec.MethodInitialize && s.Initialize == nil && sound {
			s.Initialize = a
			s.ClientCapabilities = wire.At(m.Params(), "/capabilities")
		}
	}
}

func (s *Session) remember(a *Asked) {
	key := a.Message.ID.Key()
	s.requests[key] = append(s.requests[key], a)
	s.order = append(s.order, a)
}

func (s *Session) noteReceived(e *transcript.Event, m *wire.Message) {
	if m.Kind != wire.Response {
		return
	}
	a := s.pending(m.ID)
	if a == nil {
		return
	}
	a.Answers = append(a.Answers, e)
	if a == s.Initialize && m.Has("result") && s.ServerCapabilities == nil {
		s.ServerCapabilities = wire.At(m.Result(), "/capabilities")
		version, _ := wire.Text(wire.At(m.Result(), "/protocolVersion"))
		if r := spec.Revision(version); r.Published() {
			s.negotiated = r
		}
	}
}

// pending returns the request that a response with this id belongs to: the
// oldest without an answer, else the newest.
func (s *Session) pending(id wire.ID) *Asked {
	all := s.requests[id.Key()]
	for _, a := range all {
		if len(a.Answers) == 0 {
			return a
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// wellFormed tells whether m is a request as JSON-RPC 2.0 and MCP write it.
func wellFormed(m *wire.Message) bool {
	version, _ := wire.Text(m.Member("jsonrpc"))
	params := m.Params()
	return version == "2.0" && m.Method != "" &&
		(m.ID.IsString() || m.ID.IsInteger()) &&
		(params == nil || params.Kind() == '{')
}

// ClientDeclared tells whether the client declared the capability.
func (s *Session) ClientDeclared(capability string) bool {
	_, members := wire.Members(s.ClientCapabilities)
	_, ok := members[capability]
	return ok
}
