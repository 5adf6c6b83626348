package tasks

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	listIncludes      = "tasks.list-includes-gettable"
	listNextCursor    = "tasks.list-next-cursor"
	listInvalidCursor = "tasks.list-invalid-cursor"
)

func listRules() []rules.Rule {
	return []rules.Rule{{
		ID:           "rule.task-list",
		Title:        "tasks/list returns all tasks in pages, and refuses unknown cursors",
		Requirements: []string{listIncludes, listNextCursor, listInvalidCursor},
		Start: atEnd(func(l *ledger, out *rules.Reporter) {
			if !l.s.ServerDeclared("tasks.list") {
				return
			}
			var lists []*taskRequest
			returned := map[string]bool{}
			for _, q := range l.answered {
				if q.method == spec.MethodTasksList {
					lists = append(lists, q)
					next, _ := wire.Text(q.reply.ResultAt("/nextCursor"))
					returned[next] = true
				}
			}
			if !isRefusedAltogether(lists) {
				for _, q := range lists {
					judgeCursor(q, returned, out)
				}
			}
			for _, w := range l.walks() {
				l.judgeWalk(w, out)
			}
		}),
	}}
}

// isRefusedAltogether reports whether the server refused every tasks/list as an unknown method.
// Such a refusal breaks tasks.list-capability, and shows nothing about cursors.
func isRefusedAltogether(lists []*taskRequest) bool {
	for _, q := range lists {
		if code, _ := q.errorCode(); spec.Code(code) != spec.CodeMethodNotFound {
			return false
		}
	}
	return true
}

// judgeCursor judges the response to a cursor that the server never returned in the conversation.
// It skips an empty cursor, because some clients use it for the first page.
func judgeCursor(q *taskRequest, returned map[string]bool, out *rules.Reporter) {
	raw := q.request.Message.ParamAt("/cursor")
	cursor, isText := wire.Text(raw)
	if raw == nil || raw.Kind() == 'n' || isText && (cursor == "" || returned[cursor]) {
		return
	}
	code, _ := q.errorCode()
	d := verdict.Deviation{
		Requirement: listInvalidCursor,
		Permitted:   "an error with code -32602",
		Seen:        rules.Excerpt(q.reply.Raw),
		At:          q.positions(),
	}
	switch {
	case spec.Code(code) == spec.CodeInvalidParams:
		out.MarkObserved(listInvalidCursor)
	case q.succeeded():
		d.Summary = "The server's tasks/list accepts an invalid cursor."
		out.Report(d)
	default:
		d.Summary = "The server's tasks/list refuses a bad cursor, but not with -32602."
		out.Report(d)
	}
}

// walk is a complete walk through the list of tasks.
type walk struct {
	pages []*taskRequest
	has   map[string]bool // the listed ids
}

// walks returns the walks that reached the end of the list.
func (l *ledger) walks() []walk {
	var out []walk
	for i, q := range l.answered {
		if q.method != spec.MethodTasksList || !q.succeeded() || q.request.Message.ParamAt("/cursor") != nil {
			continue
		}
		w := walk{has: map[string]bool{}}
		w.add(q)
		for next := cursorOf(q); next != nil; next = cursorOf(q) {
			q = nextPage(l.answered[i+1:], q, next)
			if q == nil {
				break
			}
			w.add(q)
		}
		if q != nil {
			out = append(out, w)
		}
	}
	return out
}

func (w *walk) add(page *taskRequest) {
	w.pages = append(w.pages, page)
	for _, object := range wire.Elements(page.reply.ResultAt("/tasks")) {
		if id, ok := wire.Text(wire.At(object, "/taskId")); ok {
			w.has[id] = true
		}
	}
}

// cursorOf returns the cursor of the next page, nil if there is none.
func cursorOf(page *taskRequest) jsontext.Value {
	next := page.reply.ResultAt("/nextCursor")
	if next.Kind() == 'n' {
		return nil
	}
	return next
}

// nextPage returns the first page that the client requested with the cursor after page came, or
// nil.
func nextPage(all []*taskRequest, page *taskRequest, cursor jsontext.Value) *taskRequest {
	for _, q := range all {
		if q.method == spec.MethodTasksList && q.succeeded() && q.request.Event.Seq > page.event.Seq &&
			string(q.request.Message.ParamAt("/cursor")) == string(cursor) {
			return q
		}
	}
	return nil
}

// judgeWalk looks for missing tasks: they were created before the walk, and tasks/get returns
// them after it.
func (l *ledger) judgeWalk(w walk, out *rules.Reporter) {
	begin, end := w.pages[0].request.Event, w.pages[len(w.pages)-1].event
	var missing, listed []*task
	var shownBy *taskRequest
	for _, t := range l.tasks {
		if t.call == nil || t.isDuplicated || t.call.event.Seq > begin.Seq {
			continue
		}
		var got *taskRequest
		for _, q := range l.queries(spec.MethodTasksGet, t) {
			if q.succeeded() && q.request.Event.Seq > end.Seq {
				got = q
			}
		}
		switch {
		case w.has[t.id]:
			listed = append(listed, t)
		case got != nil:
			missing, shownBy = append(missing, t), got
		}
	}
	if len(missing) == 0 {
		if len(listed) > 0 {
			out.MarkObserved(listIncludes)
		}
		if len(w.pages) > 1 {
			out.MarkObserved(listNextCursor)
		}
		return
	}
	d := verdict.Deviation{
		Requirement: listIncludes,
		Summary:     "The server's tasks/list omits a task that tasks/get returns.",
		Permitted:   "every task that tasks/get shows",
		Seen:        "no task with the id " + rules.Excerpt(wire.Quote(missing[len(missing)-1].id)),
		At:          rules.PositionsOf(begin, end, shownBy.request.Event, shownBy.event),
	}
	if isCutOff(listed, missing) {
		d.Requirement, d.Permitted = listNextCursor, "a nextCursor, as there are more tasks"
		d.Summary = "The server's tasks/list ends before it has listed all tasks."
		out.MarkReportedElsewhere(listIncludes)
	}
	out.Report(d)
}

// isCutOff reports whether the list stopped early: several tasks are listed, and all missing tasks
// are older than these, or all are newer.
func isCutOff(listed, missing []*task) bool {
	if len(listed) < 2 || len(missing) < 2 {
		return false
	}
	first, last := listed[0].call.event.Seq, listed[len(listed)-1].call.event.Seq
	before, after := true, true
	for _, t := range missing {
		before = before && t.call.event.Seq < first
		after = after && t.call.event.Seq > last
	}
	return before || after
}
