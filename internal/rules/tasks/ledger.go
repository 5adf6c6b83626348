package tasks

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A ledger is what a conversation shows about tasks.
type ledger struct {
	s     *rules.Session
	calls []*call
	tasks []*task // in the order of their first mention
	byID  map[string]*task
	// notes are the server's notifications that may concern tasks.
	notes []*transcript.Message
	// answered are the client's requests about tasks that have a response.
	answered      []*taskRequest
	malformedCall *transcript.Event // the first call that may be refused as malformed; the rules do not judge it
	listings      []listing
	index         index
}

// call is a tools/call request.
type call struct {
	request   *rules.Request
	reply     *wire.Message     // the first response; nil if there is none
	event     *transcript.Event // the event of the response
	name      string
	arguments string // in canonical form, for comparison
	asTask    bool   // the client requested a task in the specified form
	task      *task  // the created task; nil if none
}

// task is a task of the server.
type task struct {
	id           string
	call         *call // the call that created it; nil if that was not seen
	token        jsontext.Value
	observations []*observation
	isDuplicated bool // several tasks have this id, so none of them can be judged
}

// observation is a state of a task in a message of the server.
type observation struct {
	event  *transcript.Event
	query  *taskRequest // the request that it responds to; nil for a creation or a notification
	object jsontext.Value
	status string
}

// taskRequest is an answered request about tasks.
type taskRequest struct {
	request *rules.Request
	reply   *wire.Message
	event   *transcript.Event
	method  string
	id      string // the taskId, if it is a string
	named   bool   // the taskId is a string
}

func (q *taskRequest) succeeded() bool { return q.reply.Has("result") && !q.reply.IsError() }

func (q *taskRequest) errorCode() (int64, bool) { return q.reply.ErrorCode() }

// positions returns the positions of the request and its response.
func (q *taskRequest) positions() []int { return rules.PositionsOf(q.request.Event, q.event) }

func (c *call) succeeded() bool {
	return c.reply != nil && c.reply.Has("result") && !c.reply.IsError()
}

func (c *call) positions() []int { return rules.PositionsOf(c.request.Event, c.event) }

const (
	related     = "/_meta/io.modelcontextprotocol~1related-task"
	relatedTask = related + "/taskId"
	// immediateMember is the pointer of the immediate response for the model in a result.
	immediateMember = "/_meta/io.modelcontextprotocol~1model-immediate-response"
)

// The statuses of tasks.
const (
	working       = "working"
	inputRequired = "input_required"
	completed     = "completed"
	failed        = "failed"
	cancelled     = "cancelled"
)

func isTerminal(status string) bool {
	return status == completed || status == failed || status == cancelled
}

func isKnownStatus(status string) bool {
	return isTerminal(status) || status == working || status == inputRequired
}

func (l *ledger) handlers() rules.Handlers {
	keep := func(_ *rules.Session, obs *rules.Observation, _ *rules.Reporter) {
		l.notes = append(l.notes, &transcript.Message{Message: obs.Message, Event: obs.Event})
	}
	return rules.Handlers{
		rules.Notification(spec.MethodTasksStatus):  keep,
		rules.Notification(spec.MethodProgress):     keep,
		rules.Notification(spec.MethodMessage):      keep,
		rules.Notification(spec.MethodCancelled):    keep,
		rules.Notification(spec.MethodToolsChanged): keep,
	}
}

// finish returns the ledger at the end of the conversation, with all messages about tasks.
func (l *ledger) finish(s *rules.Session) *ledger {
	if l.s != nil {
		return l
	}
	l.s, l.byID = s, map[string]*task{}
	for _, req := range s.ClientRequests() {
		switch {
		case req.Message.Method != spec.MethodToolsCall:
		case req.WellFormed:
			l.readCall(req)
		case l.malformedCall == nil:
			l.malformedCall = req.Event
		}
	}
	for _, req := range s.ClientRequests() {
		if req.WellFormed && len(req.Responses) > 0 && !req.IsOverloaded() && !req.MayBeCancelled() {
			l.readQuery(req)
		}
	}
	for _, n := range l.notes {
		if n.Method == spec.MethodTasksStatus {
			id, ok := wire.Text(n.ParamAt("/taskId"))
			l.noteObservation(id, ok, n.Event, nil, n.Params())
		}
	}
	for _, t := range l.tasks {
		slices.SortStableFunc(t.observations, func(a, b *observation) int { return a.event.Seq - b.event.Seq })
	}
	l.readTools()
	l.buildIndex()
	return l
}

func (l *ledger) readCall(req *rules.Request) {
	params := req.Message.Params()
	c := &call{request: req, arguments: canonicalJSON(req.Message.ParamAt("/arguments"))}
	c.name, _ = wire.Text(req.Message.ParamAt("/name"))
	c.asTask = isTaskCall(params)
	l.calls = append(l.calls, c)
	if len(req.Responses) == 0 || req.IsOverloaded() || req.MayBeCancelled() {
		return
	}
	c.reply, c.event = req.Responses[0].Message, req.Responses[0].Event
	object := createdTask(c.reply)
	id, ok := wire.Text(wire.At(object, "/taskId"))
	if !ok {
		return
	}
	if t := l.byID[id]; t != nil {
		t.isDuplicated, c.task = true, t
		return
	}
	l.noteObservation(id, true, c.event, nil, object)
	c.task = l.byID[id]
	c.task.call, c.task.token = c, req.Message.ParamAt("/_meta/progressToken")
}

// createdTask returns the task of a CreateTaskResult, nil if m is not one.
func createdTask(m *wire.Message) jsontext.Value {
	if m.IsError() || m.ResultAt("/content") != nil {
		return nil
	}
	if object := m.ResultAt("/task"); object.Kind() == '{' {
		return object
	}
	return nil
}

// isTaskCall reports whether params request a task in the specified form.
func isTaskCall(params jsontext.Value) bool {
	ttl := wire.At(params, "/task/ttl")
	return wire.At(params, "/task").Kind() == '{' && (ttl == nil || ttl.Kind() == '0')
}

func (l *ledger) readQuery(req *rules.Request) {
	q := &taskRequest{request: req, reply: req.Responses[0].Message, event: req.Responses[0].Event, method: req.Message.Method}
	switch q.method {
	case spec.MethodTasksGet, spec.MethodTasksCancel, spec.MethodTasksResult, spec.MethodTasksList:
	default:
		return
	}
	q.id, q.named = wire.Text(req.Message.ParamAt("/taskId"))
	l.answered = append(l.answered, q)
	if !q.succeeded() {
		return
	}
	result := q.reply.Result()
	switch q.method {
	case spec.MethodTasksGet, spec.MethodTasksCancel:
		id, ok := wire.Text(q.reply.ResultAt("/taskId"))
		l.noteObservation(id, ok, q.event, q, result)
	case spec.MethodTasksList:
		for _, object := range wire.Elements(q.reply.ResultAt("/tasks")) {
			id, ok := wire.Text(wire.At(object, "/taskId"))
			l.noteObservation(id, ok, q.event, q, object)
		}
	}
}

// noteObservation records a state of the task with this id. It does nothing if ok is false.
func (l *ledger) noteObservation(id string, ok bool, e *transcript.Event, q *taskRequest, object jsontext.Value) {
	if !ok {
		return
	}
	t := l.byID[id]
	if t == nil {
		t = &task{id: id}
		l.byID[id] = t
		l.tasks = append(l.tasks, t)
	}
	status, _ := wire.Text(wire.At(object, "/status"))
	t.observations = append(t.observations, &observation{e, q, object, status})
}

// isAfter reports whether the observation was certainly made after event e: it was requested after
// e, or a request was sent and answered between e and the observation.
func (l *ledger) isAfter(e *transcript.Event, v *observation) bool {
	if v.query != nil {
		return v.query.request.Event.Seq > e.Seq
	}
	return l.hasExchangeBetween(e, v.event)
}

// hasExchangeBetween reports whether a request was sent and answered between two events. Over HTTP
// it returns false for events on different streams, which have no order.
func (l *ledger) hasExchangeBetween(from, to *transcript.Event) bool {
	if from.Seq >= to.Seq || l.s.Transport != spec.Stdio && from.Exchange != to.Exchange {
		return false
	}
	return slices.ContainsFunc(l.sentAfter(from), func(req *rules.Request) bool { return req.RespondedBefore(to.Seq) })
}

// queries returns the answered requests of a method about the task, in the order in which they
// were sent.
func (l *ledger) queries(method string, t *task) []*taskRequest {
	var out []*taskRequest
	for _, q := range l.index.queries[t.id] {
		if q.method == method {
			out = append(out, q)
		}
	}
	return out
}

// successfulCancel returns the first answered tasks/cancel of the task that succeeded, or nil.
func (l *ledger) successfulCancel(t *task) *taskRequest {
	for _, q := range l.queries(spec.MethodTasksCancel, t) {
		if q.succeeded() {
			return q
		}
	}
	return nil
}

// terminalObservation returns the first observation of the task in a terminal status; nil if there
// is none.
func (t *task) terminalObservation() *observation {
	for _, v := range t.observations {
		if isTerminal(v.status) {
			return v
		}
	}
	return nil
}

// canonicalJSON returns a JSON value in canonical form; absent arguments equal an empty object.
func canonicalJSON(v jsontext.Value) string {
	if v == nil {
		return "{}"
	}
	return wire.Canonical(v)
}
