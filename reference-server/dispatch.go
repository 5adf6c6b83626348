package refserver

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Call is a request from the client that is being handled.
type Call struct {
	Session  *Session
	Revision spec.Revision // negotiated; empty before initialize
	Method   string
	ID       wire.ID
	Params   jsontext.Value // raw; nil when absent
	Batched  bool           // the request is an element of a batch

	ctx           context.Context
	cancel        context.CancelFunc
	afterResponse func() // what follows when the answer is on its way, if anything
	task          *task  // the task as which the call runs, if it does
	protocolError *Error // what the call ends with instead of a tool's result
}

// Context returns a context that ends when the client cancels the request or the
// session ends.
func (c *Call) Context() context.Context { return c.ctx }

// Notify sends a notification that belongs to the call, unless the call has ended.
func (c *Call) Notify(method string, params any) {
	switch {
	case c.ctx.Err() != nil:
	case c.task != nil:
		c.task.notify(method, params)
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
}

// isKnown reports whether the server has the method in the call's revision.
func (c *Call) isKnown() bool {
	o := &c.Session.options
	switch {
	case methodsNeedingSession[c.Method] && o.NoSessions, strings.HasPrefix(c.Method, "tasks/") && !o.hasTasks(c.Revision):
		return false
	default:
		return handlers[c.Method] != nil
	}
}

// handledInOrder are the methods that change the meaning of later messages. The
// server handles them before it reads the next message.
var handledInOrder = map[string]bool{
	spec.MethodInitialize:           true,
	spec.MethodSetLevel:             true,
	spec.MethodResourcesSubscribe:   true,
	spec.MethodResourcesUnsubscribe: true,
}

func (s *Session) handleRequest(m *wire.Message, a *responder) {
	c := &Call{Session: s, Revision: s.Revision(), Method: m.Method, ID: m.ID, Params: m.Params(), Batched: a.batch}
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	place := a.reserve()
	if !s.registerCall(c) {
		c.cancel()
		a.deliver(place, s.errorOut(c.Method, c.ID, invalidRequest("a request with this id is still in progress")))
		return
	}
	if seam := s.options.Seams.BeforeHandle; seam != nil {
		seam(c)
	}
	if handledInOrder[c.Method] {
		s.respond(a, place, c, s.responseTo(c))
		return
	}
	slots := s.quickSlots
	if c.Method == spec.MethodToolsCall || c.Method == spec.MethodTasksResult {
		// A tool or task may wait for a response of the client, which is read only
		// after this function returns. So don't wait for a free slot here.
		if slots = s.callSlots; len(slots) == cap(slots) {
			s.unregisterCall(c)
			a.deliver(place, s.errorOut(c.Method, c.ID, &Error{Code: spec.CodeInternal, Message: "Too many requests: no more tools can be called at once"}))
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

// respond sends the response to c, or reports that there is none.
func (s *Session) respond(a *responder, place int, c *Call, o *Out) {
	a.deliver(place, o)
	if o == nil && s.onUnanswered != nil {
		s.onUnanswered(c.ID)
	}
}

// registerCall adds c to the requests in flight. It returns false if a request
// with the same id is among them.
func (s *Session) registerCall(c *Call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inFlight[c.ID.Key()] != nil {
		return false
	}
	s.inFlight[c.ID.Key()] = c
	return true
}

// unregisterCall removes c from the requests in flight and reports whether the
// client still expects a response.
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
		return s.errorOut(c.Method, c.ID, err)
	default:
		return s.resultOut(c.Method, c.ID, result)
	}
}

func (s *Session) handle(c *Call) (any, *Error) {
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

// checkParams checks what all methods require of their params.
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
