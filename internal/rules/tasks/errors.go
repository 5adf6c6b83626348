package tasks

import (
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	unknownID     = "tasks.unknown-id-error"
	errorMessages = "tasks.error-messages"
)

func errorRules() []rules.Rule {
	return []rules.Rule{{
		ID:           "rule.task-errors",
		Title:        "ids that name no task are refused, with a reason",
		Requirements: []string{unknownID, errorMessages},
		Start: atEnd(func(l *ledger, out *rules.Reporter) {
			if !l.s.ServerDeclared("tasks") {
				return
			}
			for _, q := range l.answered {
				if q.method == spec.MethodTasksCancel && !l.s.ServerDeclared("tasks.cancel") {
					continue
				}
				if q.method != spec.MethodTasksList {
					l.judgeUnknown(q, out)
				}
				judgeMessage(q, out)
			}
		}),
	}}
}

// judgeUnknown judges the response to an id that the server never sent in this conversation. A
// result for exactly this id may be right, because the task may be older. A missing or malformed id
// counts as unknown, and no result can be right for it.
func (l *ledger) judgeUnknown(q *taskRequest, out *rules.Reporter) {
	if q.named && q.id != "" && l.isTaskKnown(q.id, q) {
		return
	}
	if !out.RequireInterpretable(&rules.Observation{Event: q.event, Message: q.reply, Request: q.request}, l.knownTaskControl(), unknownID) {
		return
	}
	none := !q.named || q.id == ""
	code, isError := q.errorCode()
	d := verdict.Deviation{
		Requirement: unknownID,
		Permitted:   "an error with code -32602",
		Seen:        rules.Excerpt(q.reply.Raw),
		At:          q.positions(),
	}
	answered, _ := wire.Text(q.reply.ResultAt("/taskId"))
	switch {
	case isError && spec.Code(code) == spec.CodeInvalidParams:
		out.MarkObserved(unknownID)
	case isError:
		d.Summary = "The server refuses an invalid taskId, but not with -32602."
		if !q.named || q.method == spec.MethodTasksResult && !none {
			d.Weight = verdict.AtMostWarning // the request is malformed, or the error may be that of an older task
		}
		out.Report(d)
	case q.succeeded() && (none || q.method != spec.MethodTasksResult && answered != q.id):
		d.Summary = "The server answers an invalid taskId with a result."
		out.Report(d)
	}
}

// knownTaskControl returns the control for a request about an unknown task: a request about an
// existing task, or else any request that shows that the server serves requests.
func (l *ledger) knownTaskControl() rules.Control {
	return rules.Control{
		What: "a request about a task that exists", ByName: true,
		Matches: func(req *rules.Request) bool {
			q := l.index.queryOf[req]
			return q != nil && q.named && l.isTaskKnown(q.id, q)
		},
		Fallback: func(req *rules.Request) bool {
			return req.Message.Method == spec.MethodTasksList || rules.PingControl().Matches(req)
		},
	}
}

// isTaskKnown reports whether the server sent the id in any message other than the response to q.
func (l *ledger) isTaskKnown(id string, q *taskRequest) bool {
	t := l.byID[id]
	if t == nil {
		return false
	}
	for _, v := range t.observations {
		if v.query != q {
			return true
		}
	}
	return false
}

func judgeMessage(q *taskRequest, out *rules.Reporter) {
	e, isError := q.reply.Error()
	text, isText := wire.Text(e.Message)
	switch {
	case !isError || !isText:
	case strings.TrimSpace(text) != "":
		out.MarkObserved(errorMessages)
	default:
		out.Report(verdict.Deviation{
			Requirement: errorMessages,
			Summary:     "The server's error about a task has an empty message.",
			Permitted:   "a message that names the cause",
			Seen:        rules.Excerpt(q.reply.Raw),
			At:          q.positions(),
		})
	}
}
