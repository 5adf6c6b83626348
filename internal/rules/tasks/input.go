package tasks

import (
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	inputStatus  = "tasks.input-required-status"
	inputLeft    = "tasks.input-required-left"
	inputRelated = "tasks.input-request-related-task"
)

func inputRules() []rules.Rule {
	return []rules.Rule{{
		ID:           "rule.task-input",
		Title:        "a task that waits for the client is input_required, and its requests name it",
		Requirements: []string{inputStatus, inputLeft, inputRelated},
		Start: atEnd(func(l *ledger, out *rules.Reporter) {
			for _, p := range l.s.ServerRequests() {
				switch p.Message.Method {
				case spec.MethodElicit, spec.MethodSampling, spec.MethodRootsList:
					l.judgeServerRequest(p, out)
				}
			}
			for _, t := range l.tasks {
				if !t.isDuplicated {
					l.judgeInputLeft(t, out)
				}
			}
		}),
	}}
}

// judgeServerRequest judges whether a request of the server names its task, and whether that task
// had the status input_required until the client responded.
func (l *ledger) judgeServerRequest(p *transcript.Request, out *rules.Reporter) {
	id, isText := wire.Text(p.Message.ParamAt(relatedTask))
	if !isText {
		l.judgeUnnamedRequest(p, out)
		return
	}
	t := l.byID[id]
	if t == nil {
		return
	}
	out.MarkObserved(inputRelated)
	var atWork *observation
	for _, v := range t.observations {
		switch {
		case !wasMadeWhileOpen(v, p):
		case v.status == inputRequired:
			out.MarkObserved(inputStatus)
			return
		case v.status == working:
			atWork = v
		}
	}
	if atWork != nil {
		out.Report(verdict.Deviation{
			Requirement: inputStatus,
			Summary:     "The server's task waits for input, but has status working.",
			Permitted:   "the status " + inputRequired,
			Seen:        "the status " + working,
			At:          rules.PositionsOf(p.Event, atWork.event),
		})
	}
}

// wasMadeWhileOpen reports whether the observation was requested and received while p was open.
func wasMadeWhileOpen(v *observation, p *transcript.Request) bool {
	return v.query != nil && v.query.request.Event.Seq > p.Event.Seq && !p.RespondedBefore(v.event.Seq)
}

// judgeUnnamedRequest judges a server request that names no task, if it can only belong to a task:
// a task has the status input_required, nothing else is in progress, and no other server request is
// open.
func (l *ledger) judgeUnnamedRequest(p *transcript.Request, out *rules.Reporter) {
	if len(l.tasks) == 0 || p.Message.Method == spec.MethodRootsList || l.hasPossibleCause(p) {
		return
	}
	for _, other := range l.s.ServerRequests() {
		if other != p && !other.RespondedBefore(p.Event.Seq) {
			return
		}
	}
	for _, t := range l.tasks {
		for _, v := range t.observations {
			if v.status == inputRequired && wasMadeWhileOpen(v, p) {
				out.Report(verdict.Deviation{
					Requirement: inputRelated,
					Summary:     "The server's request for a task does not name the task.",
					Permitted:   "io.modelcontextprotocol/related-task in _meta with the taskId " + rules.Excerpt(wire.Quote(t.id)),
					Seen:        rules.Excerpt(p.Message.Raw),
					At:          rules.PositionsOf(p.Event, v.event),
				})
				return
			}
		}
	}
}

// hasPossibleCause reports whether a client request that was pending when p came may be the reason
// for p.
func (l *ledger) hasPossibleCause(p *transcript.Request) bool {
	for _, req := range l.s.ClientRequests() {
		switch req.Message.Method {
		case spec.MethodTasksGet, spec.MethodTasksList, spec.MethodTasksResult, spec.MethodTasksCancel, spec.MethodPing:
			continue
		}
		if req.InFlight(p.Event.Seq) && !l.mayBelongToTaskOf(req, p) {
			return true
		}
	}
	return false
}

// mayBelongToTaskOf reports whether the request req was answered with a task while the server's
// request p was open, so that p may belong to that task. Over HTTP, a task's request may come on
// one stream before another stream shows its creation.
func (l *ledger) mayBelongToTaskOf(req *rules.Request, p *transcript.Request) bool {
	c := l.index.callOf[req]
	return c != nil && c.asTask && c.task != nil && !p.RespondedBefore(c.event.Seq)
}

// leaveTime is how long a task may stay in input_required after the client's last response.
const leaveTime = time.Second

// judgeInputLeft looks for tasks that stay in input_required although the client has responded to
// all their requests.
func (l *ledger) judgeInputLeft(t *task, out *rules.Reporter) {
	var last *transcript.Request
	var reply *transcript.Event
	for _, p := range l.index.serverRequests[t.id] {
		m := p.Response()
		if m == nil {
			return // it is still open
		}
		if last == nil || m.Event.Seq > reply.Seq {
			last, reply = p, m.Event
		}
	}
	if last == nil || slices.ContainsFunc(l.index.serverRequests[""], func(p *transcript.Request) bool { return p.Response() == nil }) {
		return // an open request without a name may belong to the task
	}
	if mode, _ := wire.Text(last.Message.ParamAt("/mode")); mode == "url" {
		return // the response does not mean that the user has finished on the page
	}
	for _, v := range t.observations {
		switch {
		case v.event.Seq < reply.Seq || v.query != nil && v.query.request.Event.Seq < reply.Seq:
		case isKnownStatus(v.status) && v.status != inputRequired:
			out.MarkObserved(inputLeft)
			return
		case v.status == inputRequired && v.query != nil && v.query.request.Event.At-reply.At >= leaveTime:
			out.Report(verdict.Deviation{
				Requirement: inputLeft,
				Summary:     "The server's task stays in input_required after all its input has come.",
				Permitted:   "a status other than " + inputRequired,
				Seen:        inputRequired + " " + (v.event.At - reply.At).Round(time.Millisecond).String() + " after the last answer",
				At:          rules.PositionsOf(reply, v.event),
			})
			return
		}
	}
}
