package tasks

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	relatedInResult  = "tasks.related-task-in-result"
	resultBlocks     = "tasks.result-blocks"
	resultExact      = "tasks.result-exact"
	resultRepeatable = "tasks.result-repeatable"
	failedStatus     = "tasks.failed-status"
)

func resultRules() []rules.Rule {
	return []rules.Rule{{
		ID:           "rule.task-result",
		Title:        "tasks/result waits, and returns what the call would have returned",
		Requirements: []string{relatedInResult, resultBlocks, resultExact, resultRepeatable, failedStatus},
		Start: atEnd(func(l *ledger, out *rules.Reporter) {
			for _, t := range l.tasks {
				if t.isDuplicated {
					continue
				}
				all := l.queries(spec.MethodTasksResult, t)
				for _, q := range all {
					l.judgeRelatedTask(t, q, out)
					if l.judgeResultBlocks(t, q, out) && !l.wasCancelled(t) {
						l.judgeEndedResult(t, q, out)
						l.judgeFailed(t, q, out)
					}
				}
				if len(all) > 1 && !l.wasCancelled(t) {
					judgeRepeatable(t, all, out)
				}
			}
		}),
	}}
}

// judgeRelatedTask judges whether a result of tasks/result names the task. It skips errors, which
// have no member for that.
func (l *ledger) judgeRelatedTask(t *task, q *taskRequest, out *rules.Reporter) {
	if !q.succeeded() {
		return
	}
	id, ok := wire.Text(q.reply.ResultAt(relatedTask))
	if ok && id == t.id {
		out.MarkObserved(relatedInResult)
		return
	}
	other, mixed := wire.Text(q.request.Message.ParamAt(relatedTask))
	if ok && mixed && id == other && other != t.id {
		out.MarkReportedElsewhere(relatedInResult) // the server used the wrong task
		return
	}
	out.Report(verdict.Deviation{
		Requirement: relatedInResult,
		Summary:     "The server's tasks/result does not name its task.",
		Permitted:   "io.modelcontextprotocol/related-task in _meta with the taskId " + rules.Excerpt(wire.Quote(t.id)),
		Seen:        rules.Excerpt(q.reply.Raw),
		At:          q.positions(),
	})
}

// judgeResultBlocks judges whether tasks/result was answered only after the task ended. It returns
// false if the request was cancelled, or if a later observation shows the task as still running.
func (l *ledger) judgeResultBlocks(t *task, q *taskRequest, out *rules.Reporter) bool {
	if q.request.IsCancelled() {
		return false
	}
	for _, v := range t.observations {
		if !isKnownStatus(v.status) || isTerminal(v.status) || v.query == nil || v.query.request.Event.Seq < q.event.Seq {
			continue
		}
		d := verdict.Deviation{
			Requirement: resultBlocks,
			Summary:     "tasks/result is answered before the task is over.",
			Permitted:   "a response when the task is completed, failed or cancelled",
			Seen:        rules.Excerpt(q.reply.Raw) + ", and afterwards the status " + v.status,
			At:          rules.PositionsOf(q.request.Event, q.event, v.event),
		}
		if code, isError := q.errorCode(); isError && code <= -32000 && code > -32100 {
			d.Weight = verdict.AtMostWarning // the server may have another reason, such as too many requests
		}
		out.Report(d)
		return false
	}
	for i := len(t.observations) - 1; i >= 0; i-- { // the latest observation before the request
		if v := t.observations[i]; v.event.Seq < q.request.Event.Seq {
			if isKnownStatus(v.status) && !isTerminal(v.status) {
				out.MarkObserved(resultBlocks)
			}
			break
		}
	}
	return true
}

// judgeEndedResult judges the response to tasks/result for a task that has ended.
func (l *ledger) judgeEndedResult(t *task, q *taskRequest, out *rules.Reporter) {
	if t.call == nil {
		return
	}
	d := verdict.Deviation{Requirement: resultExact, Seen: rules.Excerpt(q.reply.Raw), At: q.positions()}
	if content := q.reply.ResultAt("/content"); q.succeeded() && content.Kind() != '[' {
		d.Summary, d.Permitted = "The server's tasks/result is not a tool result.", "the result of the call, with its content"
		out.Report(d)
		return
	}
	plain := l.steadyCall(t.call, q)
	if plain == nil {
		if q.succeeded() {
			out.MarkObserved(resultExact)
		}
		return
	}
	d.Permitted, d.At = rules.Excerpt(plain.reply.Raw), rules.PositionsOf(plain.event, q.request.Event, q.event)
	code, isError := q.errorCode()
	otherCode, otherError := plain.reply.ErrorCode()
	switch {
	case isError != otherError || code != otherCode:
		d.Summary = "tasks/result gives an error where the call gives none, or another one."
		out.Report(d)
	case isErrorResult(q.reply) != isErrorResult(plain.reply):
		d.Summary = "tasks/result gives a success where the call gives a failure, or the other way round."
		out.Report(d)
	case !isError && withoutMeta(q.reply.Result()) != withoutMeta(plain.reply.Result()):
		d.Summary, d.Weight = "tasks/result gives something else than the call.", verdict.AtMostWarning
		out.Report(d)
	default:
		out.MarkObserved(resultExact)
	}
}

// steadyCall returns the last equal call without a task before c, if the first one after q got the
// same result or error; otherwise nil. The result of such a call does not seem to change with time.
func (l *ledger) steadyCall(c *call, q *taskRequest) *call {
	var before, after *call
	for _, o := range l.plainCalls(c) {
		if o.reply == nil {
			continue
		}
		if o.event.Seq < c.request.Event.Seq {
			before = o
		}
		if o.request.Event.Seq > q.event.Seq && after == nil {
			after = o
		}
	}
	if before == nil || after == nil || before.succeeded() != after.succeeded() {
		return nil
	}
	x, _ := before.reply.ErrorCode()
	y, _ := after.reply.ErrorCode()
	if x != y || before.succeeded() && withoutMeta(before.reply.Result()) != withoutMeta(after.reply.Result()) {
		return nil
	}
	return before
}

// isErrorResult reports whether a result has isError set.
func isErrorResult(m *wire.Message) bool { return string(m.ResultAt("/isError")) == "true" }

// withoutMeta returns a result in canonical form, without metadata and without isError if that is
// false.
func withoutMeta(result jsontext.Value) string {
	_, members := wire.Members(result)
	rest := map[string]jsontext.Value{}
	for name, value := range members {
		if name != "_meta" && (name != "isError" || string(value) != "false") {
			rest[name] = value
		}
	}
	return canonicalJSON(wire.JSON(rest))
}

// judgeFailed compares the status of the task with the outcome of its call.
func (l *ledger) judgeFailed(t *task, q *taskRequest, out *rules.Reporter) {
	end := t.terminalObservation()
	code, isError := q.errorCode()
	if end == nil || q.succeeded() && !isErrorResult(q.reply) {
		return
	}
	if isError && (spec.Code(code) == spec.CodeInvalidParams || spec.Code(code) == spec.CodeMethodNotFound) {
		return // the task may be gone, or the request itself was refused
	}
	switch end.status {
	case failed:
		out.MarkObserved(failedStatus)
	case completed:
		failure := "/result/isError"
		if isError {
			failure = "/error"
		}
		out.Report(verdict.Deviation{
			Requirement: failedStatus,
			Summary:     "The server's task is completed, though its call failed.",
			Permitted:   "the status " + failed,
			Seen:        rules.Excerpt(q.reply.Raw),
			At:          rules.PositionsOf(end.event, q.event),
			Pointer:     failure,
		})
	}
}

// judgeRepeatable compares the responses to tasks/result for a task that is retained.
func judgeRepeatable(t *task, all []*taskRequest, out *rules.Reporter) {
	first := all[0]
	if !first.succeeded() {
		return
	}
	for _, q := range all[1:] {
		if !q.succeeded() && !t.isRetained(q) {
			continue // the task may no longer exist
		}
		if q.request.Event.Seq < first.event.Seq || q.request.Message.ParamAt(related) != nil {
			continue
		}
		if q.succeeded() && withoutMeta(q.reply.Result()) == withoutMeta(first.reply.Result()) {
			out.MarkObserved(resultRepeatable)
			continue
		}
		out.Report(verdict.Deviation{
			Requirement: resultRepeatable,
			Summary:     "The server returns a different tasks/result the second time.",
			Permitted:   rules.Excerpt(first.reply.Raw),
			Seen:        rules.Excerpt(q.reply.Raw),
			At:          rules.PositionsOf(first.event, q.request.Event, q.event),
		})
		return
	}
}
