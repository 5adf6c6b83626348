package tasks

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	capabilityDeclared = "tasks.capability-declared"
	capabilityShape    = "tasks.capability-shape"
	undeclaredIgnored  = "tasks.undeclared-ignored"
	requestsExhaustive = "tasks.requests-exhaustive"
	listCapability     = "tasks.list-capability"
	cancelCapability   = "tasks.cancel-capability"
)

// toolCalls is the capability to run tool calls as tasks.
const toolCalls = "tasks.requests.tools.call"

func declarationRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.tasks-capability",
			Title:        "the capability of tasks is a tree of objects",
			Requirements: []string{capabilityShape},
			Start:        atEnd(judgeCapability),
		},
		{
			ID:           "rule.tasks-declared",
			Title:        "tasks are used as declared, and declared methods work",
			Requirements: []string{capabilityDeclared, undeclaredIgnored, requestsExhaustive, listCapability, cancelCapability},
			Start:        atEnd(judgeDeclared),
		},
	}
}

// judgeCapability judges the form of the declared tasks capability. A boolean is at most a warning
// for a property that the text of the specification calls a boolean: in the examples and the schema
// it is an object.
func judgeCapability(l *ledger, out *rules.Reporter) {
	root := wire.At(l.s.ServerCapabilities, "/tasks")
	if root == nil {
		return
	}
	for _, member := range []struct {
		pointer string
		leaf    bool
	}{
		{"", false}, {"/list", true}, {"/cancel", true}, {"/requests", false}, {"/requests/tools", false}, {"/requests/tools/call", true},
	} {
		v := wire.At(root, member.pointer)
		if v == nil || v.Kind() == '{' {
			continue
		}
		pointer := "/result/capabilities/tasks" + member.pointer
		d := verdict.Deviation{
			Requirement: capabilityShape,
			Summary:     "The server's tasks capability has a member that is not an object.",
			Permitted:   "an object, or no member of that name",
			Seen:        rules.Excerpt(v) + " at " + pointer,
			At:          rules.PositionsOf(l.s.Initialize.Event, l.s.Initialize.Responses[0].Event),
			Pointer:     pointer,
		}
		if member.leaf && (v.Kind() == 't' || v.Kind() == 'f') {
			d.Weight = verdict.AtMostWarning
		}
		out.Report(d)
		return
	}
	for _, name := range []string{"sampling", "elicitation"} {
		if v := wire.At(root, "/requests/"+name); v != nil {
			out.Report(verdict.Deviation{
				Requirement: capabilityShape,
				Summary:     "The server declares tasks for requests that only clients receive.",
				Permitted:   "only tools.call among the requests",
				Seen:        "requests." + name,
				At:          rules.PositionsOf(l.s.Initialize.Event, l.s.Initialize.Responses[0].Event),
				Pointer:     "/result/capabilities/tasks/requests/" + name,
				Weight:      verdict.OnlyNote,
			})
			return
		}
	}
	out.MarkObserved(capabilityShape)
}

func judgeDeclared(l *ledger, out *rules.Reporter) {
	for _, c := range l.calls {
		l.judgeUndeclared(c, out)
	}
	for _, n := range l.notes {
		if n.Method == spec.MethodTasksStatus && !l.s.ServerDeclared("tasks") {
			out.Report(verdict.Deviation{
				Requirement: capabilityDeclared,
				Summary:     "The server sends a task status without declaring tasks.",
				Permitted:   "task notifications only from servers that declare tasks",
				Fix:         "Declare the tasks capability, or do not send notifications/tasks/status.",
				Seen:        rules.Excerpt(n.Raw),
				At:          rules.PositionsOf(l.s.Initialize.Responses[0].Event, n.Event),
				Earlier:     "/result/capabilities",
			})
		}
	}
	for _, req := range l.s.ClientRequests() {
		judgeExhaustive(req, out)
	}
	for _, q := range l.answered {
		switch q.method {
		case spec.MethodTasksList:
			l.judgeOperation(q, "tasks.list", listCapability, q.request.Message.ParamAt("/cursor") == nil, out)
		case spec.MethodTasksCancel:
			l.judgeOperation(q, "tasks.cancel", cancelCapability, false, out)
		}
	}
}

// judgeUndeclared judges the task support of servers that do not declare it.
func (l *ledger) judgeUndeclared(c *call, out *rules.Reporter) {
	switch {
	case c.reply == nil:
	case createdTask(c.reply) != nil && l.s.ServerDeclared(toolCalls):
		out.MarkObserved(capabilityDeclared)
	case createdTask(c.reply) != nil:
		l.report(verdict.Deviation{
			Requirement: capabilityDeclared,
			Summary:     "The server answers a call with a task without declaring tasks.",
			Permitted:   "the result of the call, or the capability " + toolCalls,
			Seen:        rules.Excerpt(c.reply.Raw),
			At:          c.positions(),
		}, out)
		out.MarkReportedElsewhere(undeclaredIgnored)
	case !c.asTask || l.s.ServerDeclared(toolCalls):
	case c.succeeded():
		out.MarkObserved(capabilityDeclared)
		out.MarkObserved(undeclaredIgnored)
	case !l.succeedsWithoutTask(c) || !strings.Contains(strings.ToLower(string(c.reply.Raw)), "task"): // the request may be refused for another reason
	default:
		l.report(verdict.Deviation{
			Requirement: undeclaredIgnored,
			Summary:     "The server refuses a call with a task member, though it declares no tasks.",
			Permitted:   "the result that the call has without the member",
			Seen:        rules.Excerpt(c.reply.Raw),
			At:          c.positions(),
		}, out)
	}
}

// succeedsWithoutTask reports whether equal calls without a task member succeed before and after c.
// A refusal of c is then due to its task member.
func (l *ledger) succeedsWithoutTask(c *call) bool {
	var before, after bool
	for _, o := range l.plainCalls(c) {
		if !o.succeeded() {
			return false
		}
		before = before || o.event.Seq < c.request.Event.Seq
		after = after || o.request.Event.Seq > c.event.Seq
	}
	return before && after
}

// judgeExhaustive looks for tasks in responses to requests other than tool calls. The capability
// does not cover such requests.
func judgeExhaustive(req *rules.Request, out *rules.Reporter) {
	switch req.Message.Method {
	case spec.MethodToolsCall, spec.MethodInitialize:
		return
	}
	if !req.WellFormed || !isTaskCall(req.Message.Params()) || !req.Succeeded() {
		return
	}
	if isText(req.Responses[0].ResultAt("/task/taskId")) && isText(req.Responses[0].ResultAt("/task/status")) {
		out.Report(verdict.Deviation{
			Requirement: requestsExhaustive,
			Summary:     "The server creates a task for a request that cannot be one.",
			Permitted:   "the result of the request",
			Seen:        rules.Excerpt(req.Responses[0].Raw),
			At:          rules.PositionsOf(req.Event, req.Responses[0].Event),
		})
		return
	}
	out.MarkObserved(requestsExhaustive)
}

// judgeOperation judges tasks/list and tasks/cancel. plain is set if the request itself gives no
// reason to refuse it.
func (l *ledger) judgeOperation(q *taskRequest, capability, requirement string, plain bool, out *rules.Reporter) {
	code, _ := q.errorCode()
	d := verdict.Deviation{Requirement: requirement, Seen: rules.Excerpt(q.reply.Raw), At: q.positions()}
	switch declared := l.s.ServerDeclared(capability); {
	case declared && (spec.Code(code) == spec.CodeMethodNotFound || plain && spec.Code(code) == spec.CodeInvalidParams):
		d.Summary, d.Permitted = "The server refuses a task operation that it declares.", "a result, as "+capability+" is declared"
		d.Fix = "Serve " + q.method + ", or leave " + capability + " out of the capabilities."
		l.report(d, out)
	case !declared && q.succeeded():
		d.Summary, d.Permitted = "The server serves a task operation that it does not declare.", "an error such as -32601, or the capability "+capability
		d.Fix = "Declare " + capability + ", or answer " + q.method + " with error -32601."
		l.report(d, out)
	default:
		out.MarkObserved(requirement)
	}
}

// report reports a deviation about the declared capabilities, with the response that has them.
func (l *ledger) report(d verdict.Deviation, out *rules.Reporter) {
	l.s.ShowDeclared(&d)
	out.Report(d)
}

func isText(v jsontext.Value) bool { return v.Kind() == '"' }
