package tasks

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	relatedEverywhere = "tasks.related-task-everywhere"
	tokenContinues    = "progress.task-token-continues"
	stopsAtTerminal   = "progress.task-stops-at-terminal"
)

func messageRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.task-messages",
			Title:        "messages of a task name it",
			Requirements: []string{relatedEverywhere},
			Start: atEnd(func(l *ledger, out *rules.Reporter) {
				for _, n := range l.notes {
					switch n.Method {
					case spec.MethodProgress, spec.MethodMessage:
						l.judgeTaskNaming(n, out)
					}
				}
			}),
		},
		{
			ID:           "rule.task-progress",
			Title:        "the progress of a task keeps its token, and ends with the task",
			Requirements: []string{tokenContinues, stopsAtTerminal},
			Start: atEnd(func(l *ledger, out *rules.Reporter) {
				for _, t := range l.tasks {
					if t.token != nil && !t.isDuplicated {
						l.judgeProgress(t, out)
					}
				}
			}),
		},
	}
}

// judgeTaskNaming judges whether a notification names its task in _meta. A notification that has
// neither the metadata nor the progress token of a task can't be attributed to one, and is not
// judged.
func (l *ledger) judgeTaskNaming(n *transcript.Message, out *rules.Reporter) {
	meta := n.ParamAt(related)
	id, isText := wire.Text(wire.At(meta, "/taskId"))
	d := verdict.Deviation{
		Requirement: relatedEverywhere,
		Permitted:   "io.modelcontextprotocol/related-task in _meta, an object with the taskId",
		Seen:        rules.Excerpt(n.Raw),
		At:          rules.PositionsOf(n.Event),
	}
	if meta != nil {
		d.Seen, d.Pointer = "related-task "+rules.Excerpt(meta)+" in "+n.Method, "/params"+related
	}
	owner := l.taskWithToken(n.ParamAt("/progressToken"), n.Event)
	switch {
	case meta != nil && !isText:
		d.Summary = "The server's related-task is not an object with a taskId."
		out.Report(d)
	case owner != nil && meta == nil:
		d.Summary, d.At = "The server's progress of a task does not name the task.", rules.PositionsOf(owner.call.event, n.Event)
		out.Report(d)
	case owner != nil && id != owner.id:
		d.Summary, d.At = "The server's progress of a task names another task.", rules.PositionsOf(owner.call.event, n.Event)
		d.Seen, d.Earlier = d.Seen+", with the progressToken of the task "+rules.Excerpt(owner.id), "/result/task/taskId"
		out.Report(d)
	case isText && l.byID[id] != nil:
		out.MarkObserved(relatedEverywhere)
	}
}

// taskWithToken returns the task with this progress token, if it was created before the event and
// no other request has the token.
func (l *ledger) taskWithToken(token jsontext.Value, e *transcript.Event) *task {
	if token == nil || len(l.tasks) == 0 {
		return nil
	}
	all := l.s.RequestsWithToken(wire.RawID(string(token)))
	if len(all) != 1 {
		return nil
	}
	owner := l.index.created[all[0]]
	if owner == nil || owner.isDuplicated || owner.call.event.Seq > e.Seq {
		return nil
	}
	return owner
}

// areSameToken reports whether two progress tokens are the same.
func areSameToken(a, b jsontext.Value) bool {
	return a != nil && b != nil && wire.RawID(string(a)).Same(wire.RawID(string(b)))
}

func (l *ledger) judgeProgress(t *task, out *rules.Reporter) {
	end, reported := t.terminalObservation(), false
	for _, n := range l.index.notes[t] {
		if n.Method != spec.MethodProgress || n.Event.Seq < t.call.event.Seq {
			continue
		}
		token := n.ParamAt("/progressToken")
		switch {
		case n.named && !areSameToken(token, t.token):
			out.Report(verdict.Deviation{
				Requirement: tokenContinues,
				Summary:     "The server's progress of a task has another token than the request.",
				Permitted:   "the progressToken " + string(t.token) + " of the request",
				Seen:        "the progressToken " + rules.Excerpt(token),
				At:          rules.PositionsOf(t.call.request.Event, n.Event),
			})
		case n.named:
			out.MarkObserved(tokenContinues)
		}
		reported = true
		if end == nil || n.Event.Seq < end.event.Seq {
			continue
		}
		if l.isSurelyLater(end.event, n.Event) {
			out.Report(verdict.Deviation{
				Requirement: stopsAtTerminal,
				Summary:     "The server reports progress of a task that has ended.",
				Permitted:   "no progress after " + end.status,
				Seen:        rules.Excerpt(n.Raw),
				At:          rules.PositionsOf(end.event, n.Event),
			})
			return
		}
		if l.s.Transport == spec.StreamableHTTP { // it may have been in transit on another stream
			out.MarkReportedElsewhere(stopsAtTerminal)
		}
	}
	if reported && end != nil && l.hasExchangeAfter(end.event) {
		out.MarkObserved(stopsAtTerminal)
	}
}

// isSurelyLater reports whether the server certainly sent the second event after the first. On
// different streams that is certain after two consecutive round trips and some time for messages in
// transit. It is not certain on a new or resumed stream, which may deliver older messages.
func (l *ledger) isSurelyLater(from, to *transcript.Event) bool {
	if l.hasExchangeBetween(from, to) {
		return true
	}
	if l.s.Transport != spec.StreamableHTTP || to.At > 0 && to.At-from.At <= stopTime {
		return false
	}
	x := l.s.Exchanges().Of(to)
	if x == nil || x.Response == nil || x.Response.Seq > from.Seq || x.RequestHead().Has("Last-Event-ID") {
		return false
	}
	trips, after := 0, from.Seq
	for _, req := range l.sentAfter(from) {
		if req.Event.Seq > after && req.RespondedBefore(to.Seq) {
			trips++
			after = req.Responses[0].Event.Seq
		}
	}
	return trips >= 2
}

// hasExchangeAfter reports whether a request was sent and answered after the event.
func (l *ledger) hasExchangeAfter(e *transcript.Event) bool {
	return slices.ContainsFunc(l.sentAfter(e), func(req *rules.Request) bool { return len(req.Responses) > 0 })
}
