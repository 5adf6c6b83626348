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
	noStreamForGet = "tasks.no-sse-for-get"
	maxTTL         = "tasks.max-ttl"
)

func limitRules() []rules.Rule {
	return []rules.Rule{
		{
			ID:           "rule.task-polled-plainly",
			Title:        "over HTTP tasks/get is answered without a stream, where the server can do so",
			Requirements: []string{noStreamForGet},
			Start:        atEnd(judgePolling),
		},
		{
			ID:           "rule.task-ttl-limited",
			Title:        "the server limits the time to live of tasks",
			Requirements: []string{maxTTL},
			Start: atEnd(func(l *ledger, out *rules.Reporter) {
				for _, c := range l.calls {
					if c.task != nil {
						judgeTTL(c, out)
					}
				}
			}),
		},
	}
}

// judgePolling reports a server that streams each response to tasks/get, although it sends the
// response to some other request without a stream. It does not report a server that streams every
// response, because that server may be unable to do otherwise, nor one that sends any response to
// tasks/get without a stream, because it may stream only slow responses. A stream that carried more
// than the response was necessary.
func judgePolling(l *ledger, out *rules.Reporter) {
	if l.s.Transport != spec.StreamableHTTP {
		return
	}
	var streamed *taskRequest
	for _, q := range l.answered {
		x := l.s.Exchanges().Of(q.event)
		switch {
		case q.method != spec.MethodTasksGet || !q.succeeded() || x == nil || x.Number != q.request.Event.Exchange:
		case !x.IsStream():
			out.MarkObserved(noStreamForGet)
			return
		case slices.IndexFunc(x.Messages(), func(m wire.Message) bool { return m.Kind != wire.Response }) < 0:
			streamed = q
		}
	}
	plain := l.firstPlainResponse()
	if streamed == nil || plain == nil {
		return
	}
	x := l.s.Exchanges().Of(streamed.event)
	out.Report(verdict.Deviation{
		Requirement: noStreamForGet,
		Summary:     "The server answers tasks/get with a stream, but not other requests.",
		Permitted:   "the response as application/json",
		Seen:        rules.Excerpt(x.Response.Raw),
		At:          rules.PositionsOf(plain, streamed.request.Event, x.Response, streamed.event),
	})
}

// firstPlainResponse returns the event of a response that came without a stream, to a request
// other than tasks/get; nil if there is none.
func (l *ledger) firstPlainResponse() *transcript.Event {
	for _, req := range l.s.ClientRequests() {
		if len(req.Responses) == 0 || req.Message.Method == spec.MethodTasksGet {
			continue
		}
		if x := l.s.Exchanges().Of(req.Responses[0].Event); x != nil && x.Status() == 200 && !x.IsStream() && x.Number == req.Event.Exchange {
			return req.Responses[0].Event
		}
	}
	return nil
}

// endless is longer than any server needs to keep a task.
const endless = 50 * 365 * 24 * time.Hour

// judgeTTL judges the response to a request to keep a task for decades. The schema defines null as
// no limit, so a deviation is only a note.
func judgeTTL(c *call, out *rules.Reporter) {
	wanted, ok := wire.Integer(c.request.Message.ParamAt("/task/ttl"))
	if !ok || wanted < endless.Milliseconds() {
		return
	}
	ttl := c.reply.ResultAt("/task/ttl")
	returned, isNumber := wire.Integer(ttl)
	d := verdict.Deviation{
		Requirement: maxTTL, Weight: verdict.OnlyNote,
		Permitted: "a ttl that the server limits",
		Seen:      "a ttl of " + rules.Excerpt(ttl) + " where " + rules.Excerpt(c.request.Message.ParamAt("/task/ttl")) + " was asked for",
		At:        c.positions(),
		Pointer:   "/result/task/ttl",
	}
	switch {
	case isNumber && returned < wanted:
		out.MarkObserved(maxTTL)
	case isNumber:
		d.Summary = "The server keeps a task as long as the client asks, even for decades."
		out.Report(d)
	case ttl.Kind() == 'n':
		d.Summary = "The server keeps a task without limit if asked for decades."
		out.Report(d)
	}
}
