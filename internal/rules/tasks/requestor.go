package tasks

import (
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	respectsCapability = "tasks.server-respects-client-capability"
	noTasksUndeclared  = "tasks.server-no-tasks-without-capability"
	requestorRelated   = "tasks.requestor-no-related-task"
	requestorCursor    = "tasks.requestor-cursor-opaque"
)

// requestorRules returns the rules for a server that creates tasks on the client.
func requestorRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.tasks-at-client",
			Title:        "the server creates tasks on the client only as declared",
			Requirements: []string{respectsCapability, noTasksUndeclared},
			Start: atEnd(func(l *ledger, out *rules.Reporter) {
				for _, p := range l.s.ServerRequests() {
					judgeTaskCreation(l.s, p, out)
				}
			}),
		},
		{
			ID:           "rule.tasks-asked-of-client",
			Title:        "the server's requests about the client's tasks are valid",
			Requirements: []string{requestorRelated, requestorCursor},
			Start: atEnd(func(l *ledger, out *rules.Reporter) {
				for _, p := range l.s.ServerRequests() {
					judgeTaskRequest(l.s, p, out)
				}
			}),
		},
	}
}

func judgeTaskCreation(s *rules.Session, p *transcript.Request, out *rules.Reporter) {
	capability := ""
	switch p.Message.Method {
	case spec.MethodSampling:
		capability = "tasks.requests.sampling.createMessage"
	case spec.MethodElicit:
		capability = "tasks.requests.elicitation.create"
	}
	creates := p.Message.ParamAt("/task").Kind() == '{'
	d := verdict.Deviation{Seen: rules.Excerpt(p.Message.Raw), At: rules.PositionsOf(s.Initialize.Event, p.Event), Permitted: "the request without the task member"}
	d.Pointer, d.Earlier = "/params/task", "/params/capabilities"
	switch {
	case !s.ClientDeclared("tasks") && creates:
		d.Requirement, d.Summary = noTasksUndeclared, "The server requests a task from a client that did not declare tasks."
		out.Report(d)
	case !s.ClientDeclared("tasks"):
		if capability != "" {
			out.MarkObserved(noTasksUndeclared)
		}
	case creates && (capability == "" || !s.ClientDeclared(capability)):
		d.Requirement, d.Summary = respectsCapability, "The server requests a task of a kind that the client did not declare."
		out.Report(d)
	case capability != "":
		out.MarkObserved(respectsCapability)
	}
}

func judgeTaskRequest(s *rules.Session, p *transcript.Request, out *rules.Reporter) {
	switch p.Message.Method {
	case spec.MethodTasksGet, spec.MethodTasksResult, spec.MethodTasksCancel, spec.MethodTasksList:
	default:
		return
	}
	d := verdict.Deviation{Seen: rules.Excerpt(p.Message.Raw), At: rules.PositionsOf(p.Event)}
	if p.Message.ParamAt(related) != nil {
		d.Requirement, d.Summary = requestorRelated, "The server's task request also has related-task."
		d.Permitted = "no io.modelcontextprotocol/related-task in requests about tasks"
		d.Pointer = "/params" + related
		out.Report(d)
		d.Pointer = ""
	} else {
		out.MarkObserved(requestorRelated)
	}
	cursor := p.Message.ParamAt("/cursor")
	if p.Message.Method != spec.MethodTasksList || cursor == nil {
		return
	}
	if wasCursorReturned(s, string(cursor), p.Event) {
		out.MarkObserved(requestorCursor)
		return
	}
	d.Requirement, d.Summary, d.Permitted = requestorCursor, "The server sends a cursor that the client never returned.", "a nextCursor that the client returned, unchanged"
	out.Report(d)
}

// wasCursorReturned reports whether the client returned the cursor before the event.
func wasCursorReturned(s *rules.Session, cursor string, e *transcript.Event) bool {
	for _, p := range s.ServerRequests() {
		if p.Message.Method == spec.MethodTasksList && p.RespondedBefore(e.Seq) &&
			canonicalJSON(wire.At(p.Response().Result(), "/nextCursor")) == canonicalJSON([]byte(cursor)) {
			return true
		}
	}
	return false
}
