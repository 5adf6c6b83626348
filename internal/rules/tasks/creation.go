package tasks

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	createResult      = "tasks.create-result"
	createImmediate   = "tasks.create-result-immediate"
	ttlOptional       = "tasks.ttl-optional-in-request"
	idGenerated       = "tasks.id-receiver-generated"
	idUnique          = "tasks.id-unique"
	idEntropy         = "tasks.id-entropy"
	startsWorking     = "tasks.starts-working"
	immediateResponse = "tasks.model-immediate-response"
)

func creationRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.task-created",
			Title:        "a call as a task returns a working task at once",
			Requirements: []string{createResult, createImmediate, startsWorking, ttlOptional, immediateResponse},
			Start: atEnd(func(l *ledger, out *rules.Reporter) {
				if !l.s.ServerDeclared(toolCalls) {
					return
				}
				for _, c := range l.calls {
					if c.asTask && c.reply != nil {
						l.judgeCreation(c, out)
					}
				}
			}),
		},
		{
			ID:           "rule.task-ids",
			Title:        "task ids are unique and hard to guess",
			Requirements: []string{idGenerated, idUnique, idEntropy},
			Start:        atEnd(judgeIDs),
		},
	}
}

func (l *ledger) judgeCreation(c *call, out *rules.Reporter) {
	object := createdTask(c.reply)
	support := l.taskSupportFor(c).tasks
	runs := support == optional || support == required
	d := verdict.Deviation{Seen: rules.Excerpt(c.reply.Raw), At: c.positions()}
	if object == nil {
		if c.succeeded() && runs {
			d.Requirement, d.Summary, d.Permitted = createResult, "The server answers a call that requests a task with something else.", "a result with the member task"
			if c.reply.ResultAt("/task").Kind() == '{' {
				d.Summary, d.Permitted, d.Weight = "The server sends a task together with the result of the call.", "the task alone", verdict.AtMostWarning
				d.Seen, d.Pointer = "content next to task in /result", "/result/content"
				d.Fix = "Leave the result of the call out; send it later, in the response to tasks/result."
			} else if isErrorResult(c.reply) && !l.runsAsTask(c) {
				d.Weight = verdict.AtMostWarning // the task may not have been accepted
			}
			out.Report(d)
		}
		code, _ := c.reply.ErrorCode()
		if runs && string(c.request.Message.ParamAt("/task")) == "{}" && spec.Code(code) == spec.CodeInvalidParams && l.becomesTaskWithTTL(c) {
			d.Requirement, d.Summary, d.Permitted = ttlOptional, "The server refuses a task without a ttl.", "a task"
			out.Report(d)
		}
		return
	}
	out.MarkObserved(createResult)
	if c.request.Message.ParamAt("/task/ttl") == nil {
		out.MarkObserved(ttlOptional)
	}
	switch status, _ := wire.Text(wire.At(object, "/status")); {
	case status == working:
		out.MarkObserved(startsWorking)
	case isKnownStatus(status) && !c.isTaskShownEarlier():
		d.Requirement, d.Summary, d.Permitted = startsWorking, "The server creates a task with a status other than working.", "the status working"
		out.Report(d)
	}
	if v := c.reply.ResultAt(immediateMember); v != nil && !isText(v) {
		d.Requirement, d.Summary, d.Permitted = immediateResponse, "The server's immediate response for the model is not a string.", "a string"
		d.Seen, d.Pointer = rules.Excerpt(v), "/result"+immediateMember
		out.Report(d)
	} else if v != nil {
		out.MarkObserved(immediateResponse)
	}
	l.judgeImmediateCreation(c, out)
}

// isTaskShownEarlier reports whether another message of the server showed the task before the
// response to the call came. That response may then have a later state of the task.
func (c *call) isTaskShownEarlier() bool {
	return c.task != nil && c.task.observations[0].event.Seq < c.event.Seq
}

// becomesTaskWithTTL reports whether the same call with a ttl becomes a task.
func (l *ledger) becomesTaskWithTTL(c *call) bool {
	for _, o := range l.equalCalls(c) {
		if o.task != nil && o.request.Message.ParamAt("/task/ttl") != nil {
			return true
		}
	}
	return false
}

// slowCall is how long a call must take to distinguish a task created before the work from one
// created after it.
const slowCall = 250 * time.Millisecond

// judgeImmediateCreation compares the response time with that of an equal call without a task. A
// task was created late if all of these hold: its creation took nearly as long, the task had ended
// by the first query, and a request sent after the call was answered long before the call. If the
// last condition does not hold, the whole server or the machine may have been busy.
func (l *ledger) judgeImmediateCreation(c *call, out *rules.Reporter) {
	plain := l.shortestTimeWithoutTask(c)
	if plain < slowCall || c.task == nil {
		return
	}
	took := c.event.At - c.request.Event.At
	if took < plain/2 {
		out.MarkObserved(createImmediate)
		return
	}
	for _, v := range c.task.observations {
		if v.query == nil || v.query.request.Event.At > c.event.At+plain/2 {
			continue
		}
		if isTerminal(v.status) && took*5 > plain*4 && l.hasFasterLaterRequest(c, plain/2) {
			out.Report(verdict.Deviation{
				Requirement: createImmediate,
				Summary:     "The server sends the created task only when the work is done.",
				Permitted:   "the task as soon as the server accepts it",
				Seen:        "the task after " + took.Round(time.Millisecond).String() + ", where the call takes " + plain.Round(time.Millisecond).String(),
				At:          rules.PositionsOf(c.request.Event, c.event, v.event),
			})
		}
		return
	}
}

// hasFasterLaterRequest reports whether a request sent after the call was answered earlier than the
// call, by at least the given time.
func (l *ledger) hasFasterLaterRequest(c *call, long time.Duration) bool {
	return slices.ContainsFunc(l.s.ClientRequests(), func(req *rules.Request) bool {
		return req.Event.Seq >= c.request.Event.Seq && req != c.request && len(req.Responses) > 0 && req.Responses[0].Event.At+long <= c.event.At
	})
}

// shortestTimeWithoutTask returns the shortest time that a successful equal call took without a
// task, 0 if there is no such call.
func (l *ledger) shortestTimeWithoutTask(c *call) time.Duration {
	var least time.Duration
	for _, o := range l.equalCalls(c) {
		if !o.asTask && o.succeeded() && createdTask(o.reply) == nil {
			if took := o.event.At - o.request.Event.At; least == 0 || took < least {
				least = took
			}
		}
	}
	return least
}

func judgeIDs(l *ledger, out *rules.Reporter) {
	var before *call
	for _, c := range l.calls {
		if c.task == nil {
			continue
		}
		d := verdict.Deviation{At: c.positions(), Seen: "the id " + rules.Excerpt(wire.Quote(c.task.id))}
		if mine, ok := wire.Text(c.request.Message.ParamAt("/task/taskId")); ok && mine == c.task.id {
			d.Requirement, d.Summary, d.Permitted = idGenerated, "The server uses the taskId that the client proposed.", "an id of the server's own"
			out.Report(d)
		} else {
			out.MarkObserved(idGenerated)
		}
		if c.task.call != c {
			d.Requirement, d.Summary, d.Permitted = idUnique, "The server gives two tasks the same id.", "a unique id for each task"
			d.At = rules.PositionsOf(c.task.call.event, c.request.Event, c.event)
			out.Report(d)
			continue
		}
		if before != nil {
			out.MarkObserved(idUnique)
			judgeEntropy(before, c, out)
		}
		before = c
	}
}

// guessableLength is the maximum length of ids that a client could guess by brute force.
const guessableLength = 4

// judgeEntropy compares the ids of two tasks created in succession. Guessable ids are permitted
// if the server authenticates its clients, which is not visible, so this is at most a warning.
func judgeEntropy(a, b *call, out *rules.Reporter) {
	d := verdict.Deviation{
		Requirement: idEntropy,
		Permitted:   "ids that cannot be guessed",
		Seen:        "the ids " + rules.Excerpt(wire.Quote(a.task.id)) + " and " + rules.Excerpt(wire.Quote(b.task.id)),
		At:          rules.PositionsOf(a.event, b.event),
		Weight:      verdict.AtMostWarning,
	}
	switch {
	case len(b.task.id) <= guessableLength:
		d.Summary = "The server's taskIds are short enough to be guessed."
		out.Report(d)
	case areSequential(a.task.id, b.task.id):
		d.Summary = "The server numbers its tasks, so their ids can be guessed."
		out.Report(d)
	default:
		out.MarkObserved(idEntropy)
	}
}

// Bounds on ids that count as a counter or a time.
const (
	longestCounted = 24        // length of an id, in characters
	longestNumber  = 16        // length of the number in it, in digits
	widestStep     = 1_000_000 // maximum difference between two ids
)

// areSequential reports whether ids a and b differ only in a number at their end, and the number in
// b is slightly greater.
func areSequential(a, b string) bool {
	if len(a) > longestCounted || len(b) > longestCounted {
		return false
	}
	head, x := splitNumber(a)
	other, y := splitNumber(b)
	if head != other || x == "" || y == "" || len(x) > longestNumber || len(y) > longestNumber {
		return false
	}
	m, _ := strconv.ParseInt(x, 10, 64)
	n, _ := strconv.ParseInt(y, 10, 64)
	return n > m && n-m < widestStep
}

// splitNumber splits off the digits at the end of s.
func splitNumber(s string) (head, digits string) {
	head = strings.TrimRight(s, "0123456789")
	return head, s[len(head):]
}
