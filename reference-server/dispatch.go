package refserver

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Call is a request from the client that is being handled.
type Call struct {
	Session  *Session
	Revision spec.Revision // the negotiated revision, or in the stateless era that of the request; empty before initialize
	Method   string
	ID       wire.ID
	Params   jsontext.Value // raw; nil when absent
	Batched  bool           // the request is an element of a batch
	Header   http.Header    // of the POST in a stateless revision over HTTP, otherwise nil

	ctx           context.Context
	cancel        context.CancelFunc
	afterResponse func()       // runs after the response, if any, has been sent; may be nil
	task          *task        // the task that runs the call; nil if it does not run as a task
	protocolError *Error       // replaces the tool's result; may be nil
	cancelled     *atomic.Bool // the client has sent notifications/cancelled
	isVolatile    bool         // the result should not be cached
	input         *input       // input from the client, in a stateless revision; nil if the method can't request input
}

// Context returns a context that ends with the call: when its response is ready, the
// client cancels it, or the session ends.
func (c *Call) Context() context.Context { return c.ctx }

// Notify sends a notification that belongs to the call, unless the call has ended.
func (c *Call) Notify(method string, params any) {
	switch {
	case c.ctx.Err() != nil:
	case c.task != nil:
		c.task.notify(method, params)
	case c.isStateless():
		c.Session.send(c.attach(c.Session.notification(c.ID, method, params)))
	default:
		c.Session.notify(c.ID, method, params)
	}
}

// handlers maps each method to its handler.
var handlers = map[string]func(*Call) (any, *Error){
	spec.MethodInitialize:           (*Call).initialize,
	spec.MethodPing:                 (*Call).ping,
	spec.MethodToolsList:            (*Call).toolsList,
	spec.MethodToolsCall:            (*Call).toolsCall,
	spec.MethodResourcesList:        (*Call).resourcesList,
	spec.MethodResourcesTemplates:   (*Call).templatesList,
	spec.MethodResourcesRead:        (*Call).resourcesRead,
	spec.MethodResourcesSubscribe:   (*Call).resourcesSubscribe,
	spec.MethodResourcesUnsubscribe: (*Call).resourcesUnsubscribe,
	spec.MethodPromptsList:          (*Call).promptsList,
	spec.MethodPromptsGet:           (*Call).promptsGet,
	spec.MethodComplete:             (*Call).complete,
	spec.MethodSetLevel:             (*Call).setLevel,
	spec.MethodTasksGet:             (*Call).tasksGet,
	spec.MethodTasksResult:          (*Call).tasksResult,
	spec.MethodTasksList:            (*Call).tasksList,
	spec.MethodTasksCancel:          (*Call).tasksCancel,
	spec.MethodDiscover:             (*Call).discover,
	spec.MethodListen:               (*Call).listen,
}

// isKnown reports whether the server implements the method in the call's revision.
func (c *Call) isKnown() bool {
	o := &c.Session.options
	switch {
	case c.isStateless():
		return statelessMethods[c.Method]
	case handlers[c.Method] == nil, c.Method == spec.MethodDiscover, c.Method == spec.MethodListen:
		return false
	case methodsNeedingSession[c.Method] && o.NoSessions, strings.HasPrefix(c.Method, "tasks/") && !o.hasTasks(c.Revision):
		return false
	default:
		return true
	}
}

// handledInOrder contains the methods of handshake revisions that change the meaning of
// later messages. The server handles them before it reads the next message.
var handledInOrder = map[string]bool{
	spec.MethodInitialize:           true,
	spec.MethodSetLevel:             true,
	spec.MethodResourcesSubscribe:   true,
	spec.MethodResourcesUnsubscribe: true,
}

// mayWait contains the methods whose handlers may wait for a timer or the client.
var mayWait = map[string]bool{
	spec.MethodToolsCall:   true,
	spec.MethodTasksResult: true,
	spec.MethodListen:      true,
}

func (s *Session) handleRequest(m *wire.Message, a *responder) {
	c := &Call{Session: s, Revision: s.revisionOf(m, a.batch), Method: m.Method, ID: m.ID, Params: m.Params(), Batched: a.batch, Header: s.header, cancelled: &atomic.Bool{}}
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	place := a.reserve()
	if !s.registerCall(c) {
		c.cancel()
		a.deliver(place, c.errorOut(invalidRequest("a request with this id is still in progress")))
		return
	}
	if seam := s.options.Seams.BeforeHandle; seam != nil {
		seam(c)
	}
	if handledInOrder[c.Method] && !c.isStateless() {
		s.respond(a, place, c, s.responseTo(c))
		return
	}
	slots := s.quickSlots
	if mayWait[c.Method] {
		// A tool or task may wait for a response of the client. The server reads
		// that response only after this function returns, so don't wait for a slot.
		if slots = s.callSlots; len(slots) == cap(slots) {
			s.unregisterCall(c)
			a.deliver(place, c.errorOut(&Error{Code: spec.CodeInternal, Message: "Too many requests: no more tools can be called at once"}))
			return
		}
	}
	select {
	case slots <- struct{}{}:
	case <-s.ctx.Done():
		s.unregisterCall(c)
		a.deliver(place, nil)
		return
	}
	started := s.spawn(&s.handlers, func() {
		defer func() { <-slots }()
		s.respond(a, place, c, s.responseTo(c))
		if c.afterResponse != nil {
			c.afterResponse()
		}
	})
	if !started {
		s.unregisterCall(c)
		a.deliver(place, nil)
	}
}

// respond sends o as the response to c; place is the place that a.reserve returned for the
// response. If o is nil, there is no response, and respond calls onUnanswered if that is set.
func (s *Session) respond(a *responder, place int, c *Call, o *Out) {
	a.deliver(place, o)
	if o == nil && s.onUnanswered != nil {
		s.onUnanswered(c.ID)
	}
}

// registerCall adds c to the requests in flight. It returns false if a request with the same id
// is already in flight.
func (s *Session) registerCall(c *Call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inFlight[c.ID.Key()] != nil {
		return false
	}
	s.inFlight[c.ID.Key()] = c
	return true
}

// unregisterCall removes c from the requests in flight and ends its context. It returns false if
// the client expects no response, because the client has cancelled c or the session has ended.
func (s *Session) unregisterCall(c *Call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted := c.ctx.Err() == nil
	delete(s.inFlight, c.ID.Key())
	c.cancel()
	return wanted
}

// responseTo handles c and returns the response, or nil if none is to be sent.
func (s *Session) responseTo(c *Call) *Out {
	next := func(c *Call) (any, *Error) { return s.handle(c) }
	var result any
	var err *Error
	if seam := s.options.Seams.Handle; seam != nil {
		result, err = seam(c, next)
	} else {
		result, err = next(c)
	}
	switch {
	case !s.unregisterCall(c) || err == NoResponse:
		return nil
	case err != nil:
		return c.errorOut(err)
	default:
		return c.resultOut(result)
	}
}

func (s *Session) handle(c *Call) (any, *Error) {
	if c.isStateless() {
		return c.handleStateless()
	}
	switch {
	case c.Method == spec.MethodInitialize && c.Batched:
		return nil, invalidRequest("initialize must not be part of a batch")
	case c.Method == spec.MethodInitialize && c.Revision != "":
		return nil, invalidRequest("the session is already initialized")
	case c.Revision == "" && c.Method != spec.MethodInitialize && c.Method != spec.MethodPing:
		return nil, invalidRequest("the session must begin with initialize")
	}
	if !c.isKnown() {
		return nil, &Error{Code: spec.CodeMethodNotFound, Message: "Method not found"}
	}
	if err := checkParams(c.Params); err != nil {
		return nil, err
	}
	if err := c.checkRate(); err != nil {
		return nil, err
	}
	return handlers[c.Method](c)
}

// checkParams checks the params by the rules that apply to all methods.
func checkParams(params jsontext.Value) *Error {
	if params == nil {
		return nil
	}
	if params.Kind() != '{' {
		return invalidParams("params must be an object")
	}
	meta := wire.At(params, "/_meta")
	if meta != nil && meta.Kind() != '{' {
		return invalidParams("_meta must be an object")
	}
	if token := wire.At(params, "/_meta/progressToken"); token != nil {
		if id := wire.RawID(string(token)); !id.IsString() && !id.IsInteger() {
			return invalidParams("progressToken must be a string or an integer")
		}
	}
	return nil
}
