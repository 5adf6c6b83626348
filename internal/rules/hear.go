package rules

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Topic is a kind of message that a fold may subscribe to.
type Topic struct {
	voice  voice
	method string
}

type voice int

const (
	topicResult voice = iota
	topicError
	topicNotification
	topicServerRequest
	topicRequest
	topicTold
	topicReply
)

// Of the server's messages. An empty method stands for all methods.

// ResultOf is a result for a request of the client with this method.
func ResultOf(method string) Topic { return Topic{topicResult, method} }

// ErrorTo is an error for a request of the client with this method.
func ErrorTo(method string) Topic { return Topic{topicError, method} }

// Notification is a notification of the server.
func Notification(method string) Topic { return Topic{topicNotification, method} }

// ServerRequest is a request of the server.
func ServerRequest(method string) Topic { return Topic{topicServerRequest, method} }

// Of the client's messages, as far as they are JSON-RPC.

// ClientRequest is a request of the client.
func ClientRequest(method string) Topic { return Topic{topicRequest, method} }

// ClientNotification is a notification of the client.
func ClientNotification(method string) Topic { return Topic{topicTold, method} }

// ClientReply is the client's response, result or error, to a request of the
// server with this method.
func ClientReply(method string) Topic { return Topic{topicReply, method} }

// Heard is one message and what it belongs to.
type Heard struct {
	Event   *transcript.Event
	Message *wire.Message
	// Asked is the client's request: that which the server answers here, or
	// the one that is being sent. Nil for all else.
	Asked *Asked
	// Posed is the server's request: that which the client answers here, or
	// the one that has come. Nil for all else.
	Posed *transcript.Request
}

// Hears says what is done with the messages of each topic. The session took
// note of the message before.
type Hears map[Topic]func(s *Session, h *Heard, out *Out)

// listener is one function of one rule.
type listener struct {
	hear func(s *Session, h *Heard, out *Out)
	out  *Out
}

// audience is who listens to what, in the order in which they hear it: what
// keeps shared state before the rules do, the rules, and what keeps it after.
type audience struct {
	session              *Session
	before, rules, after map[Topic][]listener
}

func newAudience(s *Session) *audience {
	return &audience{s, map[Topic][]listener{}, map[Topic][]listener{}, map[Topic][]listener{}}
}

func (a *audience) add(f Fold, out *Out) {
	add := func(to map[Topic][]listener, hears Hears, out *Out) {
		for topic, hear := range hears {
			to[topic] = append(to[topic], listener{hear, out})
		}
	}
	for _, k := range f.Reads {
		before, after := k.start(a.session)
		add(a.before, before, nil)
		add(a.after, after, nil)
	}
	add(a.rules, f.Hear, out)
}

// hear hands the messages of an event to those who listen, until ended is
// closed: one message may be megabytes of work for each of them.
func (a *audience) hear(e *transcript.Event, ended <-chan struct{}) {
	s := a.session
	switch e.Kind {
	case transcript.Received:
		for _, m := range received(s, e) {
			if topic, h, ok := s.heard(e, m); ok {
				a.tell(topic, h, ended)
			}
		}
	case transcript.Sent:
		if e.Unterminated || e.IsCut() || s.sent == nil {
			return
		}
		for i := range s.sent.Messages {
			if topic, h, ok := s.overheard(e, &s.sent.Messages[i]); ok {
				a.tell(topic, h, ended)
			}
		}
	}
}

func (a *audience) tell(topic Topic, h *Heard, ended <-chan struct{}) {
	for _, part := range []map[Topic][]listener{a.before, a.rules, a.after} {
		for _, listeners := range [][]listener{part[topic], part[Topic{topic.voice, ""}]} {
			for _, l := range listeners {
				if isClosed(ended) {
					return
				}
				l.hear(a.session, h, l.out)
			}
		}
	}
}

// heard says what a message of the server is. Answers that belong to no
// request are no topic: what they are is known at the end only.
func (s *Session) heard(e *transcript.Event, m *wire.Message) (Topic, *Heard, bool) {
	h := &Heard{Event: e, Message: m}
	switch {
	case isAnswer(m):
		h.Asked = s.Answered(m)
		switch {
		case h.Asked == nil || m.Kind != wire.Response:
			return Topic{}, nil, false
		case len(s.dialogue.WithID(m.ID)) > 1, m.IsOverloadError():
			// Which of two requests with one id is answered nobody knows, and a
			// server that has no time says nothing of the request.
			return Topic{}, nil, false
		case m.IsError():
			return ErrorTo(h.Asked.Message.Method), h, true
		default:
			return ResultOf(h.Asked.Message.Method), h, m.Has("result")
		}
	case m.Kind == wire.Request:
		h.Posed = s.dialogue.Of(m)
		return ServerRequest(m.Method), h, h.Posed != nil
	case m.Kind == wire.Notification:
		return Notification(m.Method), h, true
	default:
		return Topic{}, nil, false
	}
}

// overheard says what a message of the client is.
func (s *Session) overheard(e *transcript.Event, m *wire.Message) (Topic, *Heard, bool) {
	h := &Heard{Event: e, Message: m}
	switch m.Kind {
	case wire.Request:
		h.Asked = s.of[s.dialogue.Of(m)]
		return ClientRequest(m.Method), h, h.Asked != nil
	case wire.Notification:
		return ClientNotification(m.Method), h, true
	case wire.Response:
		h.Posed = s.repliesTo(m)
		if h.Posed == nil {
			return Topic{}, nil, false
		}
		return ClientReply(h.Posed.Message.Method), h, true
	default:
		return Topic{}, nil, false
	}
}

// Posed returns the server's requests in the order in which they came, those
// with ids that the client can't answer included.
func (s *Session) Posed() []*transcript.Request { return s.dialogue.ServerRequests() }

// noteReply takes note of a response of the client. It reports false where no
// request of the server with its id is without one.
func (s *Session) noteReply(e *transcript.Event, m *wire.Message) bool {
	s.dialogue.NoteResponse(e, m)
	if s.repliesTo(m) != nil {
		return true
	}
	if key := m.ID.Key(); s.pointless[key] == nil {
		s.pointless[key] = e
	}
	return false
}

// repliesTo returns the server's request to which m is the client's first
// response, or nil.
func (s *Session) repliesTo(m *wire.Message) *transcript.Request {
	if r := s.dialogue.Of(m); r != nil && r.Response() != nil && r.Response().Message == m {
		return r
	}
	return nil
}

// ServerDeclared reports whether the server declared the capability: that it is
// there, and neither false nor null. A dot leads to a member, as in
// resources.subscribe. Before the answer to initialize nothing is declared.
func (s *Session) ServerDeclared(capability string) bool {
	return declared(s.ServerCapabilities, capability)
}

// ClientDeclared tells the same of the client.
func (s *Session) ClientDeclared(capability string) bool {
	return declared(s.ClientCapabilities, capability)
}

// Began reports whether the handshake was seen: only then it is known what was
// declared.
func (s *Session) Began() bool { return s.Initialize != nil && s.ServerCapabilities != nil }

// Era returns that of the session's revision.
func (s *Session) Era() spec.Era { return s.Revision().Era() }

// Memo returns what produce makes, once for a key in this session: rules that
// read the same message for the same thing share the work. What is made must
// not be altered, nor depend on anything that is heard later. The key's type is
// of the package that makes it, so that keys of different packages differ.
func Memo[K comparable, V any](s *Session, key K, produce func() V) V {
	if v, ok := s.memo[key]; ok {
		return v.(V)
	}
	if s.memo == nil {
		s.memo = map[any]any{}
	}
	v := produce()
	s.memo[key] = v
	return v
}
