package tasks

import (
	"slices"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	transitions          = "tasks.transitions"
	terminalIsFinal      = "tasks.terminal-is-final"
	createdAt            = "tasks.created-at"
	lastUpdatedAt        = "tasks.last-updated-at"
	failedMessage        = "tasks.failed-status-message"
	retained             = "tasks.retained-until-ttl"
	notificationComplete = "tasks.status-notification-complete"
	notificationRelated  = "tasks.status-notification-no-related-task"
	noRelatedTask        = "tasks.related-task-not-in-get-list-cancel"
	relatedIgnored       = "tasks.related-task-in-request-ignored"
)

func statusRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.task-status",
			Title:        "the status of a task changes only as permitted",
			Requirements: []string{transitions, terminalIsFinal},
			Start: atEnd(func(l *ledger, out *rules.Reporter) {
				for _, t := range l.tasks {
					if !t.isDuplicated {
						l.judgeStatus(t, out)
					}
				}
			}),
		},
		{
			ID:           "rule.task-times",
			Title:        "times of a task are valid and consistent",
			Requirements: []string{createdAt, lastUpdatedAt},
			Start: atEnd(func(l *ledger, out *rules.Reporter) {
				for _, t := range l.tasks {
					if !t.isDuplicated {
						l.judgeTimes(t, out)
					}
				}
			}),
		},
		{
			ID:           "rule.task-asked-for",
			Title:        "tasks/get and status notifications are consistent",
			Requirements: []string{failedMessage, retained, notificationComplete, notificationRelated, noRelatedTask, relatedIgnored},
			Start:        atEnd(judgeAnswersAndNotifications),
		},
	}
}

// judgeStatus looks for changes after a terminal status. The rule on tasks/cancel judges changes
// after cancelled.
func (l *ledger) judgeStatus(t *task, out *rules.Reporter) {
	for i, v := range t.observations {
		if i > 0 && isKnownStatus(v.status) && v.status != t.observations[i-1].status {
			out.MarkObserved(transitions)
		}
	}
	end := t.terminalObservation()
	if end == nil {
		return
	}
	if end.status == cancelled {
		if slices.ContainsFunc(t.observations, func(v *observation) bool {
			return isTerminal(v.status) && v.status != cancelled && l.isAfter(end.event, v)
		}) {
			out.MarkReportedElsewhere(terminalIsFinal)
		}
		return
	}
	for _, v := range t.observations {
		if v == end || !isKnownStatus(v.status) || !l.isAfter(end.event, v) {
			continue
		}
		d := verdict.Deviation{
			Permitted: "the status " + end.status + ", or an error if the task no longer exists",
			Seen:      "the status " + v.status + " after the status " + end.status,
			At:        rules.PositionsOf(end.event, v.event),
		}
		switch {
		case v.status == end.status:
			out.MarkObserved(terminalIsFinal)
		case isTerminal(v.status):
			d.Requirement, d.Summary = terminalIsFinal, "The server's task changes from one terminal status to another."
			out.Report(d)
			out.MarkReportedElsewhere(transitions)
			return
		default:
			d.Requirement, d.Summary = transitions, "The server's task continues after a terminal status."
			out.Report(d)
			out.MarkReportedElsewhere(terminalIsFinal)
			return
		}
	}
}

// judgeTimes compares the times of a task. The rules on shapes judge strings that are not times.
func (l *ledger) judgeTimes(t *task, out *rules.Reporter) {
	var first, last *observation
	for _, v := range t.observations {
		created, okCreated := l.judgeTime(v, "/createdAt", createdAt, out)
		updated, okUpdated := l.judgeTime(v, "/lastUpdatedAt", lastUpdatedAt, out)
		d := verdict.Deviation{At: rules.PositionsOf(v.event), Weight: verdict.AtMostWarning}
		if okCreated && first != nil {
			if before, ok := timeOf(first, "/createdAt"); ok && !before.Equal(created) {
				d.Requirement, d.Summary, d.Permitted = createdAt, "The server changes a task's createdAt.", before.Format(time.RFC3339Nano)
				d.Seen, d.At = created.Format(time.RFC3339Nano), rules.PositionsOf(first.event, v.event)
				out.Report(d)
			}
		}
		if okUpdated && okCreated && updated.Add(time.Second).Before(created) { // they may be rounded differently
			d.Requirement, d.Summary, d.Permitted = lastUpdatedAt, "The server's task has a lastUpdatedAt before its createdAt.", "a time not before createdAt"
			d.Seen, d.At = rules.Excerpt(v.object), rules.PositionsOf(v.event)
			out.Report(d)
		}
		if okUpdated && last != nil && l.isAfter(last.event, v) {
			if before, ok := timeOf(last, "/lastUpdatedAt"); ok && updated.Before(before) {
				d.Requirement, d.Summary, d.Permitted = lastUpdatedAt, "The server's task has a lastUpdatedAt that goes back.", "a time not before "+before.Format(time.RFC3339Nano)
				d.Seen, d.At = updated.Format(time.RFC3339Nano), rules.PositionsOf(last.event, v.event)
				out.Report(d)
			}
		}
		if okCreated && first == nil {
			first = v
		}
		if okUpdated {
			last = v
		}
	}
}

// judgeTime returns the time at the pointer in a task, and whether it could be read. It reports a
// time that is not in RFC 3339 form.
func (l *ledger) judgeTime(v *observation, pointer, requirement string, out *rules.Reporter) (time.Time, bool) {
	text, isTime := wire.Text(wire.At(v.object, pointer))
	if !isTime {
		return time.Time{}, false
	}
	at, ok := timeOf(v, pointer)
	if !ok && looksLikeDate(text) {
		out.Report(verdict.Deviation{
			Requirement: requirement,
			Summary:     "The server's task has a time in ISO 8601, but not in RFC 3339.",
			Permitted:   "a time such as 2025-11-25T10:30:00Z",
			Seen:        rules.Excerpt(wire.Quote(text)),
			At:          rules.PositionsOf(v.event),
			Weight:      verdict.AtMostWarning,
		})
	} else if ok {
		out.MarkObserved(requirement)
	}
	return at, ok
}

// timeOf parses a time in RFC 3339 form, which permits lower-case letters, a space instead of T,
// and leap seconds. It also accepts an underscore instead of T.
func timeOf(v *observation, pointer string) (time.Time, bool) {
	text, _ := wire.Text(wire.At(v.object, pointer))
	text = strings.ToUpper(text)
	if len(text) > 10 && (text[10] == ' ' || text[10] == '_') {
		text = text[:10] + "T" + text[11:]
	}
	text = strings.Replace(text, ":60", ":59", 1) // a leap second
	at, err := time.Parse(time.RFC3339Nano, text)
	return at, err == nil
}

// looksLikeDate reports whether a string is a date, with or without a time, in a common form of ISO
// 8601. Package shapes reports strings that are no date at all.
func looksLikeDate(text string) bool { return plainDate.MatchString(text) }

var plainDate = lazyregexp.New(`^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([Tt ]([01]\d|2[0-3])(:[0-5]\d(:[0-5]\d)?)?([.,]\d+)?([+-]\d\d(:?\d\d)?)?)?$`)

func judgeAnswersAndNotifications(l *ledger, out *rules.Reporter) {
	for _, q := range l.answered {
		l.judgeNoRelatedTask(q, out)
		l.judgeRelatedIgnored(q, out)
		if q.method == spec.MethodTasksGet {
			l.judgeRetained(q, out)
			judgeFailedMessage(q, out)
		}
	}
	for _, n := range l.notes {
		if n.Method == spec.MethodTasksStatus {
			l.judgeNotification(n, out)
		}
	}
}

func (l *ledger) judgeNoRelatedTask(q *taskRequest, out *rules.Reporter) {
	if q.method == spec.MethodTasksResult || !q.succeeded() {
		return
	}
	if q.reply.ResultAt(related) == nil {
		out.MarkObserved(noRelatedTask)
		return
	}
	out.Report(verdict.Deviation{
		Requirement: noRelatedTask,
		Summary:     "The server's task response also has related-task.",
		Permitted:   "no io.modelcontextprotocol/related-task in the answers to tasks/get, tasks/list and tasks/cancel",
		Seen:        "related-task " + rules.Excerpt(q.reply.ResultAt(related)) + " in the result of " + q.method,
		At:          q.positions(),
		Pointer:     "/result" + related,
	})
}

// judgeRelatedIgnored judges requests that name one task in params and another in the metadata.
func (l *ledger) judgeRelatedIgnored(q *taskRequest, out *rules.Reporter) {
	other, ok := wire.Text(q.request.Message.ParamAt(relatedTask))
	if !ok || !q.named || other == q.id || l.byID[q.id] == nil || !q.succeeded() {
		return
	}
	got, ok := wire.Text(q.reply.ResultAt("/taskId"))
	if q.method == spec.MethodTasksResult {
		got, ok = wire.Text(q.reply.ResultAt(relatedTask))
	}
	switch {
	case ok && got == q.id:
		out.MarkObserved(relatedIgnored)
	case ok && got == other:
		out.Report(verdict.Deviation{
			Requirement: relatedIgnored,
			Summary:     "The server uses the task in _meta instead of the one in params.",
			Permitted:   "the task that taskId names",
			Seen:        rules.Excerpt(q.reply.Raw),
			At:          q.positions(),
		})
	}
}

// judgeRetained looks for tasks that the server forgot before their ttl ended. In a transcript
// without times, every limited ttl counts as expired.
func (l *ledger) judgeRetained(q *taskRequest, out *rules.Reporter) {
	t := l.byID[q.id]
	if !q.named || t == nil || t.call == nil || t.isDuplicated || q.request.Message.ParamAt(related) != nil || q.request.Event.Seq < t.call.event.Seq {
		return
	}
	elapsed := q.event.At - t.call.request.Event.At
	switch code, _ := q.errorCode(); {
	case q.succeeded():
		out.MarkObserved(retained)
	case spec.Code(code) != spec.CodeInvalidParams || !t.isRetained(q) || l.wasCancelled(t):
	default:
		out.Report(verdict.Deviation{
			Requirement: retained,
			Summary:     "The server forgets a task before its ttl ends.",
			Permitted:   "the task, until " + string(wire.At(t.observations[0].object, "/ttl")) + " ms after its creation",
			Seen:        rules.Excerpt(q.reply.Raw) + " after " + elapsed.Round(time.Millisecond).String(),
			At:          rules.PositionsOf(t.call.event, q.request.Event, q.event),
		})
	}
}

// isRetained reports whether the server had to keep the task until the response to the query.
func (t *task) isRetained(q *taskRequest) bool {
	if t.call == nil || len(t.observations) == 0 {
		return false
	}
	ttl := wire.At(t.observations[0].object, "/ttl")
	milliseconds, limited := wire.Integer(ttl)
	if !limited {
		return ttl.Kind() == 'n'
	}
	elapsed := q.event.At - t.call.request.Event.At
	return elapsed > 0 && elapsed.Milliseconds() < milliseconds
}

// wasCancelled reports whether the task was or may have been cancelled.
func (l *ledger) wasCancelled(t *task) bool {
	for _, v := range t.observations {
		if v.status == cancelled {
			return true
		}
	}
	for _, req := range l.index.cancels[t.id] {
		if len(req.Responses) == 0 || req.Succeeded() {
			return true
		}
	}
	return false
}

func judgeFailedMessage(q *taskRequest, out *rules.Reporter) {
	status, _ := wire.Text(q.reply.ResultAt("/status"))
	if !q.succeeded() || status != failed {
		return
	}
	if text, _ := wire.Text(q.reply.ResultAt("/statusMessage")); strings.TrimSpace(text) != "" {
		out.MarkObserved(failedMessage)
		return
	}
	out.Report(verdict.Deviation{
		Requirement: failedMessage,
		Summary:     "The server's task failed without a reason.",
		Permitted:   "a statusMessage",
		Seen:        rules.Excerpt(q.reply.Raw),
		At:          q.positions(),
	})
}

// judgeNotification judges a well-formed status notification.
func (l *ledger) judgeNotification(n *transcript.Message, out *rules.Reporter) {
	if n.ParamAt(related) != nil {
		out.Report(verdict.Deviation{
			Requirement: notificationRelated,
			Summary:     "The server's task status notification has related-task.",
			Permitted:   "no io.modelcontextprotocol/related-task, because the task is already named",
			Seen:        "related-task " + rules.Excerpt(n.ParamAt(related)) + " in " + n.Method,
			At:          rules.PositionsOf(n.Event),
			Pointer:     "/params" + related,
		})
	} else {
		out.MarkObserved(notificationRelated)
	}
	id, ok := wire.Text(n.ParamAt("/taskId"))
	if !ok || !l.s.ServerDeclared("tasks") {
		return
	}
	for _, v := range l.byID[id].observations {
		if v.query != nil || l.byID[id].call != nil {
			out.MarkObserved(notificationComplete)
			return
		}
	}
	if l.malformedCall != nil && l.malformedCall.Seq < n.Event.Seq {
		return // it may belong to a call that is not judged
	}
	if slices.ContainsFunc(l.calls, func(c *call) bool { return c.asTask && c.reply == nil && c.request.Event.Seq < n.Event.Seq }) {
		return // it may belong to a call that is not answered yet
	}
	out.Report(verdict.Deviation{
		Requirement: notificationComplete,
		Summary:     "The server's status notification is about an unknown task.",
		Permitted:   "notifications about tasks of this client",
		Seen:        "the id " + rules.Excerpt(wire.Quote(id)),
		At:          rules.PositionsOf(n.Event),
		Weight:      verdict.AtMostWarning,
	})
}
