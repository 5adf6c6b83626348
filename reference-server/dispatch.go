package refserver

import (
	"context"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Call is a request from the client that is being handled.
type Call struct {
	Session  *Session
	Revision spec.Revision // the negotiated one, empty before initialize
	Method   string
	ID       wire.ID
	Params   jsontext.Value // raw; nil when absent
	Batched  bool           // a member of a batch

	ctx    context.Context
	cancel context.CancelFunc
	then   func() // what follows when the answer is on its way, if anything
	task   *task  // the task as which the call runs, if it does
	raised *Error // what the call ends with instead of a tool's result
}

// Context ends when the client cancels the request or leaves.
func (c *Call) Context() context.Context { return c.ctx }

// Notify sends a notification that belongs to the call.
func (c *Call) Notify(method string, params any) {
	switch {
	case c.ctx.Err() != nil:
	case c.task != nil:
		c.task.notify(method, params)
	default:
		c.Session.notify(c.ID, method, params)
	}
}

// handlers are the requests that the server knows.
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

// known reports whether the method exists in the call's revision, and here.
func (c *Call) known() bool {
	o := &c.Session.o
	switch {
	case inSession[c.Method] && o.NoSessions, strings.HasPrefix(c.Method, "tasks/") && !o.hasTasks(c.Revision):
		return false
	default:
		return handlers[c.Method] != nil
	}
}

// inOrder are the requests that change what later messages mean: they are
// handled before the next message is looked at.
var inOrder = map[string]bool{
	spec.MethodInitialize:           true,
	spec.MethodSetLevel:             true,
	spec.MethodResourcesSubscribe:   true,
	spec.MethodResourcesUnsubscribe: true,
}

func (s *Session) request(m *wire.Message, a *answers) {
	c := &Call{Session: s, Revision: s.Revision(), Method: m.Method, ID: m.ID, Params: m.Params(), Batched: a.batch}
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	place := a.begin()
	if !s.begin(c) {
		c.cancel()
		a.end(place, s.failure(c.Method, c.ID, invalidRequest("a request with this id is still in progress")))
		return
	}
	if seam := s.o.Seams.Begins; seam != nil {
		seam(c)
	}
	if inOrder[c.Method] {
		s.conclude(a, place, c, s.answer(c))
		return
	}
	slots := s.quick
	if c.Method == spec.MethodToolsCall || c.Method == spec.MethodTasksResult {
		// A tool, or a task, may wait for the client, whose answer is only read if this
		// function returns: so here nothing waits for a free place.
		if slots = s.calls; len(slots) == cap(slots) {
			s.finish(c)
			a.end(place, s.failure(c.Method, c.ID, &Error{Code: spec.CodeInternal, Message: "Too many requests: no more tools can be called at once"}))
			return
		}
	}
	select {
	case slots <- struct{}{}:
	case <-s.ctx.Done():
		s.finish(c)
		a.end(place, nil)
		return
	}
	started := s.spawn(&s.work, func() {
		defer func() { <-slots }()
		s.conclude(a, place, c, s.answer(c))
		if c.then != nil {
			c.then()
		}
	})
	if !started {
		s.finish(c)
		a.end(place, nil)
	}
}

// conclude brings the answer to c, or tells who has to know that none comes.
func (s *Session) conclude(a *answers, place int, c *Call, o *Out) {
	a.end(place, o)
	if o == nil && s.over != nil {
		s.over(c.ID)
	}
}

// begin enters c among the running requests, unless its id is taken.
func (s *Session) begin(c *Call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[c.ID.Key()] != nil {
		return false
	}
	s.running[c.ID.Key()] = c
	return true
}

// finish removes c from the running requests and reports whether an answer is
// still wanted.
func (s *Session) finish(c *Call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted := c.ctx.Err() == nil
	delete(s.running, c.ID.Key())
	c.cancel()
	return wanted
}

// answer handles c and returns the response, nil when there is to be none.
func (s *Session) answer(c *Call) *Out {
	next := func(c *Call) (any, *Error) { return s.handle(c) }
	var result any
	var err *Error
	if seam := s.o.Seams.Handle; seam != nil {
		result, err = seam(c, next)
	} else {
		result, err = next(c)
	}
	switch {
	case !s.finish(c) || err == Unanswered:
		return nil
	case err != nil:
		return s.failure(c.Method, c.ID, err)
	default:
		return s.success(c.Method, c.ID, result)
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
	if !c.known() {
		return nil, &Error{Code: spec.CodeMethodNotFound, Message: "Method not found"}
	}
	if err := checkParams(c.Params); err != nil {
		return nil, err
	}
	if err := c.tooMany(); err != nil {
		return nil, err
	}
	return handlers[c.Method](c)
}

// checkParams checks what is the same for the params of all methods.
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
