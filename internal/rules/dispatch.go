package rules

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Topic is a kind of message, such as the results of tools/list. A Fold, the state of a rule, has
// a handler for each topic that it reads.
type Topic struct {
	kind   topicKind
	method string
}

type topicKind int

const (
	topicResult topicKind = iota
	topicError
	topicNotification
	topicServerRequest
	topicClientRequest
	topicClientNotification
	topicClientReply
	topicInputRequired
	topicOtherResult
)

// Topics of the server's messages. An empty method means all methods.

// ResultOf returns the topic of results of a client request with this method. In the stateless
// era these are complete results; a result without a type counts as complete.
func ResultOf(method string) Topic { return Topic{topicResult, method} }

// InputRequired returns the topic of results that require input from the client (stateless era).
func InputRequired(method string) Topic { return Topic{topicInputRequired, method} }

// OtherResult returns the topic of results of any other type (stateless era).
func OtherResult(method string) Topic { return Topic{topicOtherResult, method} }

// ErrorTo returns the topic of errors in response to a client request with this method.
func ErrorTo(method string) Topic { return Topic{topicError, method} }

// Notification returns the topic of notifications of the server.
func Notification(method string) Topic { return Topic{topicNotification, method} }

// ServerRequest returns the topic of requests of the server: messages of their own, or entries
// in the inputRequests of a result that requires input.
func ServerRequest(method string) Topic { return Topic{topicServerRequest, method} }

// Topics of the client's messages that are valid JSON-RPC.

// ClientRequest returns the topic of requests of the client.
func ClientRequest(method string) Topic { return Topic{topicClientRequest, method} }

// ClientNotification returns the topic of notifications of the client.
func ClientNotification(method string) Topic { return Topic{topicClientNotification, method} }

// ClientReply returns the topic of the client's responses to server requests with this method.
// The response to an entry of inputRequests is the entry in inputResponses.
func ClientReply(method string) Topic { return Topic{topicClientReply, method} }

// An Observation is a message together with the request that it is or responds to.
type Observation struct {
	Event   *transcript.Event
	Message *wire.Message
	// Request is the client's request, if the message is that request, the response to it, or a
	// part of either; otherwise nil.
	Request *Request
	// ServerRequest is the server's request, if the message is that request or the response to
	// it; otherwise nil.
	ServerRequest *transcript.Request
	// InputKey is the key under which the message is in inputRequests or
	// inputResponses; nil for a message of its own. A key may be empty.
	InputKey *string
}

// PointerToParam returns the pointer to a param of a server request in the message that carries it.
func (obs *Observation) PointerToParam(param string) string {
	if obs.InputKey == nil {
		return "/params/" + param
	}
	return InputPointer(*obs.InputKey) + "/params/" + param
}

// Handlers are the functions that handle the messages of each topic. The session has recorded the
// message before they are called.
type Handlers map[Topic]func(s *Session, obs *Observation, out *Reporter)

// MergeHandlers merges handlers. Those for the same topic are called in order.
func MergeHandlers(several ...Handlers) Handlers {
	all := Handlers{}
	for _, handlers := range several {
		for topic, handle := range handlers {
			before := all[topic]
			if before == nil {
				all[topic] = handle
				continue
			}
			all[topic] = func(s *Session, obs *Observation, out *Reporter) {
				before(s, obs, out)
				handle(s, obs, out)
			}
		}
	}
	return all
}

// OnResult returns the handlers of results of every type for requests with this
// method.
func OnResult(method string, handle func(s *Session, obs *Observation, out *Reporter)) Handlers {
	return Handlers{ResultOf(method): handle, InputRequired(method): handle, OtherResult(method): handle}
}

// OnResponse returns the handlers of errors and of results of every type for requests with this
// method.
func OnResponse(method string, handle func(s *Session, obs *Observation, out *Reporter)) Handlers {
	h := OnResult(method, handle)
	h[ErrorTo(method)] = handle
	return h
}

// A handler is a function of a rule, together with the rule's Reporter, or a function of a Shared,
// which has no Reporter.
type handler struct {
	handle func(s *Session, obs *Observation, out *Reporter)
	out    *Reporter
}

// A dispatcher calls the handlers of each topic in this order: those that update
// shared state before the rules run, the rules, and those that update it after.
type dispatcher struct {
	session              *Session
	before, rules, after map[Topic][]handler
	// ordered has the handlers of each topic that occurred, in the order in which they are called.
	ordered map[Topic][]handler
}

func newDispatcher(s *Session) *dispatcher {
	return &dispatcher{s, map[Topic][]handler{}, map[Topic][]handler{}, map[Topic][]handler{}, map[Topic][]handler{}}
}

func (d *dispatcher) add(f Fold, out *Reporter) {
	add := func(to map[Topic][]handler, handlers Handlers, out *Reporter) {
		for topic, handle := range handlers {
			to[topic] = append(to[topic], handler{handle, out})
		}
	}
	for _, k := range f.Shared {
		before, after := k.start(d.session)
		add(d.before, before, nil)
		add(d.after, after, nil)
	}
	add(d.rules, f.OnMessage, out)
}

// dispatchEvent calls the handlers of each message of an event, until ended is closed. It checks
// ended before each handler, because a handler may take long for a message of megabytes.
func (d *dispatcher) dispatchEvent(e *transcript.Event, ended <-chan struct{}) {
	s := d.session
	switch e.Kind {
	case transcript.Received:
		for _, m := range receivedMessages(s, e) {
			if topic, obs, ok := d.topicOfReceived(e, m); ok {
				d.dispatch(topic, obs, ended)
				if topic.kind == topicInputRequired {
					for _, asked := range s.Rounds.noteInputRequests(obs) {
						d.dispatch(ServerRequest(asked.Message.Method), asked, ended)
					}
				}
			}
		}
	case transcript.Sent:
		if e.Unterminated || e.IsCut() || s.Sent.last == nil {
			return
		}
		for i := range s.Sent.last.Messages {
			if topic, obs, ok := d.topicOfSent(e, &s.Sent.last.Messages[i]); ok {
				d.dispatch(topic, obs, ended)
				for _, reply := range s.Rounds.inputReplies(obs) {
					d.dispatch(ClientReply(reply.ServerRequest.Message.Method), reply, ended)
				}
			}
		}
	}
}

func (d *dispatcher) dispatch(topic Topic, obs *Observation, ended <-chan struct{}) {
	for _, h := range d.handlersOf(topic) {
		if isClosed(ended) {
			return
		}
		h.handle(d.session, obs, h.out)
	}
}

// handlersOf returns the handlers of a topic in the order in which they are called.
func (d *dispatcher) handlersOf(topic Topic) []handler {
	all, known := d.ordered[topic]
	if !known {
		for _, part := range []map[Topic][]handler{d.before, d.rules, d.after} {
			all = append(append(all, part[topic]...), part[Topic{topic.kind, ""}]...)
		}
		d.ordered[topic] = all
	}
	return all
}

// topicOfReceived returns the topic of a message of the server. Responses that match no request
// have no topic, because they can be classified only at the end.
func (d *dispatcher) topicOfReceived(e *transcript.Event, m *wire.Message) (Topic, *Observation, bool) {
	s, obs := d.session, &Observation{Event: e, Message: m}
	switch {
	case isResponse(m):
		obs.Request = s.requestOf(m)
		switch {
		case obs.Request == nil || m.Kind != wire.Response:
			return Topic{}, nil, false
		case len(s.dialogue.RequestsWithID(m.ID)) > 1, obs.Request.reportsOverload(m):
			// With two requests of the same id it is unknown which one got the
			// response, and an overload error says nothing about the request.
			return Topic{}, nil, false
		case m.IsError():
			return ErrorTo(obs.Request.Message.Method), obs, true
		default:
			return d.topicOfResult(obs), obs, m.Has("result")
		}
	case m.Kind == wire.Request:
		obs.ServerRequest = s.dialogue.RequestOf(m)
		return ServerRequest(m.Method), obs, obs.ServerRequest != nil
	case m.Kind == wire.Notification:
		return Notification(m.Method), obs, true
	default:
		return Topic{}, nil, false
	}
}

// topicOfResult returns the topic of a result by its type.
func (d *dispatcher) topicOfResult(obs *Observation) Topic {
	method := obs.Request.Message.Method
	if d.session.Era() == spec.Handshake {
		return ResultOf(method)
	}
	switch kind, named := wire.Text(obs.Message.ResultAt("/resultType")); {
	case !named || kind == spec.ResultComplete:
		return ResultOf(method)
	case kind == spec.ResultInputRequired:
		return InputRequired(method)
	default:
		return OtherResult(method)
	}
}

// topicOfSent returns the topic of a message of the client.
func (d *dispatcher) topicOfSent(e *transcript.Event, m *wire.Message) (Topic, *Observation, bool) {
	s, obs := d.session, &Observation{Event: e, Message: m}
	switch m.Kind {
	case wire.Request:
		obs.Request = s.requestOf(m)
		return ClientRequest(m.Method), obs, obs.Request != nil
	case wire.Notification:
		return ClientNotification(m.Method), obs, true
	case wire.Response:
		obs.ServerRequest = s.serverRequestOf(m)
		if obs.ServerRequest == nil {
			return Topic{}, nil, false
		}
		return ClientReply(obs.ServerRequest.Message.Method), obs, true
	default:
		return Topic{}, nil, false
	}
}
