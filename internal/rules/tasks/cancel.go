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
	cancelTerminal = "tasks.cancel-terminal-error"
	cancelBefore   = "tasks.cancel-status-before-response"
	cancelStops    = "tasks.cancel-stops-execution"
	cancelledStays = "tasks.cancelled-stays"
	useTasksCancel = "cancellation.tasks-use-tasks-cancel"
)

func cancelRules() []rules.Rule {
	return []rules.Rule{{
		ID:           "rule.task-cancelled",
		Title:        "tasks/cancel cancels unfinished tasks, immediately and permanently",
		Requirements: []string{cancelTerminal, cancelBefore, cancelStops, cancelledStays, useTasksCancel},
		Start: atEnd(func(l *ledger, out *rules.Reporter) {
			for _, t := range l.tasks {
				if t.isDuplicated {
					continue
				}
				for _, q := range l.queries(spec.MethodTasksCancel, t) {
					l.judgeCancelTerminal(t, q, out)
				}
				if q := l.successfulCancel(t); q != nil && l.judgeCancel(t, q, out) {
					l.judgeExecutionStops(t, q, out)
				}
				l.judgeCallCancellation(t, out)
			}
		}),
	}}
}

// judgeCancelTerminal judges a tasks/cancel that was sent when the task was known to have ended.
// A task that no longer exists is refused with the same code.
func (l *ledger) judgeCancelTerminal(t *task, q *taskRequest, out *rules.Reporter) {
	end := t.terminalObservation()
	if end == nil || end.event.Seq > q.request.Event.Seq {
		return
	}
	code, _ := q.errorCode()
	d := verdict.Deviation{
		Requirement: cancelTerminal,
		Permitted:   "an error with code -32602",
		Seen:        rules.Excerpt(q.reply.Raw),
		At:          rules.PositionsOf(end.event, q.request.Event, q.event),
	}
	switch {
	case spec.Code(code) == spec.CodeInvalidParams:
		out.MarkObserved(cancelTerminal)
	case q.succeeded():
		d.Summary = "The server accepts tasks/cancel for a task that has ended."
		out.Report(d)
	case l.s.ServerDeclared("tasks.cancel"):
		d.Summary = "The server refuses to cancel an ended task, but not with -32602."
		out.Report(d)
	}
}

// judgeCancel judges the first successful tasks/cancel and the later observations of the task. It
// returns false if the request should have been refused, or if its result or a later observation
// shows that the task was not cancelled.
func (l *ledger) judgeCancel(t *task, q *taskRequest, out *rules.Reporter) bool {
	if end := t.terminalObservation(); end != nil && end.event.Seq < q.request.Event.Seq {
		return false // tasks/cancel should have been refused
	}
	d := verdict.Deviation{Permitted: "the status " + cancelled + ", or an error if the task no longer exists"}
	if status, _ := wire.Text(q.reply.ResultAt("/status")); isKnownStatus(status) && status != cancelled {
		d.Requirement, d.Summary = cancelBefore, "The server's tasks/cancel result does not have status cancelled."
		d.Permitted, d.Seen, d.At = "the status "+cancelled, "the status "+status, q.positions()
		out.Report(d)
		return false
	}
	out.MarkObserved(cancelBefore)
	for _, v := range t.observations {
		if v.query == q || !isKnownStatus(v.status) || !l.isAfter(q.event, v) {
			continue
		}
		d.Seen, d.At = "the status "+v.status+" after the response to tasks/cancel", rules.PositionsOf(q.event, v.event)
		switch {
		case v.status == cancelled:
			if l.isPastNaturalEnd(t, v) {
				out.MarkObserved(cancelledStays)
			}
		case isTerminal(v.status):
			d.Requirement, d.Summary = cancelledStays, "The server's cancelled task changes its status."
			out.Report(d)
			return false
		default:
			d.Requirement, d.Summary = cancelBefore, "The server answers tasks/cancel before the task is cancelled."
			out.Report(d)
			out.MarkReportedElsewhere(cancelledStays)
			return false
		}
	}
	return true
}

// isPastNaturalEnd reports whether the observation was requested after the time at which the task's
// execution would have ended by itself, estimated by an equal call without a task. In a transcript
// without times it returns true.
func (l *ledger) isPastNaturalEnd(t *task, v *observation) bool {
	if v.event.At == 0 {
		return true
	}
	if t.call == nil || v.query == nil {
		return false
	}
	takes := l.shortestTimeWithoutTask(t.call)
	return takes > 0 && v.query.request.Event.At >= t.call.event.At+takes
}

// stopTime is how long the execution of a cancelled task may take to stop.
const stopTime = 100 * time.Millisecond

// judgeExecutionStops looks for signs that the execution of a cancelled task continues. Another
// rule judges progress after the end; if there is any, the server has not stopped the execution
// either.
func (l *ledger) judgeExecutionStops(t *task, q *taskRequest, out *rules.Reporter) {
	ran, waited := false, false
	for _, e := range l.progressMessages(t) {
		ran = ran || e.Seq < q.event.Seq
		if l.isTooLateAfterCancel(q, e) {
			out.MarkReportedElsewhere(cancelStops)
		}
	}
	for _, s := range l.activityMessages(t) {
		if s.Seq < q.event.Seq {
			ran = true
		} else if l.isTooLateAfterCancel(q, s) {
			out.Report(verdict.Deviation{
				Requirement: cancelStops,
				Summary:     "The server continues the work of a cancelled task.",
				Permitted:   "an attempt to stop the task",
				Seen:        rules.Excerpt(s.Raw),
				At:          rules.PositionsOf(q.event, s),
			})
			return
		}
	}
	for _, req := range slices.Backward(l.s.ClientRequests()) {
		if waited {
			break
		}
		waited = len(req.Responses) > 0 && req.Responses[0].Event.Seq > q.event.Seq && (req.Responses[0].Event.At-q.event.At > stopTime || req.Responses[0].Event.At == 0)
	}
	if ran && waited {
		out.MarkObserved(cancelStops)
	}
}

// isTooLateAfterCancel reports whether an event of the execution came so long after the response to
// tasks/cancel that the execution has not stopped in time.
func (l *ledger) isTooLateAfterCancel(q *taskRequest, e *transcript.Event) bool {
	return e.Seq > q.event.Seq && (e.At-q.event.At > stopTime || e.At == 0 && l.hasExchangeBetween(q.event, e))
}

// progressMessages returns the progress notifications of the task.
func (l *ledger) progressMessages(t *task) []*transcript.Event {
	var out []*transcript.Event
	for _, n := range l.index.notes[t] {
		if n.Method == spec.MethodProgress {
			out = append(out, n.Event)
		}
	}
	return out
}

// activityMessages returns the messages of a running execution: log messages and server requests
// that name the task.
func (l *ledger) activityMessages(t *task) []*transcript.Event {
	var out []*transcript.Event
	for _, n := range l.index.notes[t] {
		if n.Method == spec.MethodMessage && n.named {
			out = append(out, n.Event)
		}
	}
	for _, p := range l.index.serverRequests[t.id] {
		if namesTask(p.Message, t) {
			out = append(out, p.Event)
		}
	}
	return out
}

// namesTask reports whether the _meta of a message names the task.
func namesTask(m *wire.Message, t *task) bool {
	id, ok := wire.Text(m.ParamAt(relatedTask))
	return ok && id == t.id
}

// judgeCallCancellation judges tasks that the client tried to cancel with notifications/cancelled
// for the call, after the response to the call. The requirement binds the client, so the server
// gets at most a warning.
func (l *ledger) judgeCallCancellation(t *task, out *rules.Reporter) {
	if t.call == nil {
		return
	}
	for _, n := range t.call.request.Cancellations {
		if n.Event.Seq < t.call.event.Seq {
			continue
		}
		for _, v := range t.observations {
			if v.event.Seq < n.Event.Seq && isTerminal(v.status) {
				return
			}
			if v.event.Seq < n.Event.Seq || v.query != nil && v.query.request.Event.Seq < n.Event.Seq {
				continue
			}
			if all := l.index.cancels[t.id]; len(all) > 0 && all[0].Event.Seq < v.event.Seq {
				return
			}
			if v.status != cancelled {
				out.MarkObserved(useTasksCancel)
				return
			}
			out.Report(verdict.Deviation{
				Requirement: useTasksCancel,
				Summary:     "The server cancels a task because of notifications/cancelled.",
				Permitted:   "a task that goes on: only tasks/cancel cancels it",
				Seen:        "the status " + cancelled,
				At:          rules.PositionsOf(n.Event, v.event),
				Weight:      verdict.AtMostWarning,
			})
			return
		}
	}
}
