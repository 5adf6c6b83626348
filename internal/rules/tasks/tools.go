package tasks

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	toolForbidden = "tasks.tool-forbidden-error"
	toolRequired  = "tasks.tool-required-error"
	toolOptional  = "tasks.tool-optional"
)

// Values of a tool's taskSupport.
const (
	forbidden = "forbidden"
	optional  = "optional"
	required  = "required"
	unclear   = ""
)

// taskSupport is the known task support of a tool.
type taskSupport struct {
	tasks string // forbidden, optional, required or unclear
	bare  bool   // the tool's input schema requires no argument
}

func toolRules() []rules.Rule {
	return []rules.Rule{{
		ID:           "rule.tasks-tool-support",
		Title:        "tools run as tasks as execution.taskSupport says",
		Requirements: []string{toolForbidden, toolRequired, toolOptional},
		Start: atEnd(func(l *ledger, out *rules.Reporter) {
			if !l.s.ServerDeclared(toolCalls) {
				return
			}
			for _, c := range l.calls {
				if c.reply == nil {
					continue
				}
				switch have := l.taskSupportFor(c); have.tasks {
				case forbidden:
					l.judgeForbidden(c, out)
				case required:
					l.judgeRequired(c, have.bare && c.arguments == "{}" || l.runsAsTask(c), out)
				case optional:
					judgeOptional(c, out)
				}
			}
		}),
	}}
}

// A listing has the task support of the tools in one result of tools/list.
type listing struct {
	requestedAt, receivedAt int // positions
	tools                   map[string]taskSupport
}

// readTools records the taskSupport of each tool.
func (l *ledger) readTools() {
	for _, req := range l.s.ClientRequests() {
		if req.Message.Method != spec.MethodToolsList || !req.Succeeded() {
			continue
		}
		l.listings = append(l.listings, listing{req.Event.Seq, req.Responses[0].Event.Seq, taskSupportIn(l.s, req.Responses[0].Message)})
	}
}

type supportKey struct{}

// taskSupportIn returns the task support of the tools in a result of tools/list, by name.
func taskSupportIn(s *rules.Session, m *wire.Message) map[string]taskSupport {
	return rules.MemoResult(s, m, supportKey{}, func() map[string]taskSupport {
		tools := map[string]taskSupport{}
		for _, tool := range wire.Elements(m.ResultAt("/tools")) {
			_, members := wire.Members(tool)
			if name, ok := wire.Text(members["name"]); ok {
				have := supportOf(wire.At(members["execution"], "/taskSupport"))
				have.bare = len(wire.Elements(wire.At(members["inputSchema"], "/required"))) == 0
				tools[name] = have
			}
		}
		return tools
	})
}

// taskSupportFor returns the task support in the called tool's last listing before the call. The
// support is unclear if the list has changed since, or if the tool was not listed.
func (l *ledger) taskSupportFor(c *call) taskSupport {
	for i := len(l.listings) - 1; i >= 0; i-- {
		page := l.listings[i]
		have, listed := page.tools[c.name]
		if !listed || page.receivedAt > c.request.Event.Seq {
			continue
		}
		if slices.ContainsFunc(l.index.toolChanges, func(n *transcript.Message) bool {
			return n.Event.Seq > page.requestedAt && (c.event == nil || n.Event.Seq < c.event.Seq)
		}) {
			return taskSupport{}
		}
		return have
	}
	return taskSupport{}
}

func supportOf(v []byte) taskSupport {
	if v == nil {
		return taskSupport{tasks: forbidden}
	}
	word, _ := wire.Text(v)
	if word == forbidden || word == optional || word == required {
		return taskSupport{tasks: word}
	}
	return taskSupport{tasks: unclear}
}

// judgeForbidden judges a task call of a tool that forbids tasks.
func (l *ledger) judgeForbidden(c *call, out *rules.Reporter) {
	if !c.asTask || !out.RequireInterpretable(c.observation(), l.controlCall(c, "a call of it without a task", func(o *call) bool { return !o.asTask }), toolForbidden) {
		return
	}
	code, _ := c.reply.ErrorCode()
	d := verdict.Deviation{
		Requirement: toolForbidden,
		Permitted:   "an error with code -32601",
		Seen:        rules.Excerpt(c.reply.Raw),
		At:          c.positions(),
	}
	switch {
	case spec.Code(code) == spec.CodeMethodNotFound:
		out.MarkObserved(toolForbidden)
	case createdTask(c.reply) != nil:
		d.Summary = "The server runs a tool as a task, though the tool forbids it."
		out.Report(d)
	case c.succeeded():
		d.Summary = "The server accepts a task call of a tool that forbids tasks."
		out.Report(d)
	case spec.Code(code) == spec.CodeInvalidRequest || spec.Code(code) == spec.CodeInvalidParams:
		d.Summary = "The server refuses a forbidden task call, but not with -32601."
		out.Report(d)
	}
}

// judgeRequired judges a call of a tool that requires tasks, if the call does not request a task.
// The pages of the specification disagree on the error code for such a call. isValid is set if
// there is no other reason to refuse the call.
func (l *ledger) judgeRequired(c *call, isValid bool, out *rules.Reporter) {
	if c.request.Message.ParamAt("/task") != nil {
		return
	}
	if returned := c.request.Message.ParamAt("/arguments"); returned != nil && returned.Kind() != '{' {
		return // a server may first refuse arguments that are not an object, whatever the tool supports
	}
	if !out.RequireInterpretable(c.observation(), l.controlCall(c, "a call of it as a task", func(o *call) bool { return o.asTask }), toolRequired) {
		return
	}
	code, isCode := c.reply.ErrorCode()
	d := verdict.Deviation{
		Requirement: toolRequired,
		Summary:     "The server refuses a call without the required task, but not with -32601.",
		Permitted:   "an error with code -32601",
		Seen:        rules.Excerpt(c.reply.Raw),
		At:          c.positions(),
		Weight:      verdict.AtMostWarning,
	}
	switch {
	case spec.Code(code) == spec.CodeMethodNotFound:
		out.MarkObserved(toolRequired)
		return
	case !isValid && isCode && spec.Code(code) == spec.CodeInternal:
		return // another problem came first, such as too many calls at once
	case isCode && spec.Code(code) == spec.CodeInvalidRequest:
		d.Weight = verdict.OnlyNote
	case c.succeeded() && string(c.reply.ResultAt("/isError")) != "true":
		d.Summary = "The server runs a tool without a task, though the tool requires one."
		d.Weight = verdict.Full
	case isValid && (c.succeeded() || spec.Code(code) == spec.CodeInvalidParams):
		d.Summary = "The server does not refuse a call without the required task."
		d.Weight = verdict.Full
	}
	out.Report(d)
}

// controlCall returns the control for c: a call of the same tool for which matches returns true.
// The argument what describes that call.
func (l *ledger) controlCall(c *call, what string, matches func(*call) bool) rules.Control {
	return rules.Control{What: what, ByName: true, Matches: func(req *rules.Request) bool {
		o := l.index.callOf[req]
		return o != nil && o.name == c.name && matches(o)
	}}
}

// observation returns the response to the call.
func (c *call) observation() *rules.Observation {
	return &rules.Observation{Event: c.event, Message: c.reply, Request: c.request}
}

// runsAsTask reports whether an equal call became a task.
func (l *ledger) runsAsTask(c *call) bool {
	return slices.ContainsFunc(l.equalCalls(c), func(o *call) bool { return o.task != nil })
}

// judgeOptional judges a call of a tool that may be called with or without a task.
func judgeOptional(c *call, out *rules.Reporter) {
	code, _ := c.reply.ErrorCode()
	asked := c.request.Message.ParamAt("/task") != nil
	d := verdict.Deviation{Requirement: toolOptional, Seen: rules.Excerpt(c.reply.Raw), At: c.positions()}
	switch created := createdTask(c.reply) != nil; {
	case asked && !c.asTask: // the client's task member is malformed
	case c.asTask && spec.Code(code) == spec.CodeMethodNotFound:
		d.Summary, d.Permitted = "The server refuses a tool with optional tasks as a task.", "a task"
		out.Report(d)
	case !asked && created:
		d.Summary, d.Permitted = "The server runs a tool as a task that the client did not request.", "the result of the call"
		out.Report(d)
	case !asked && (spec.Code(code) == spec.CodeMethodNotFound || spec.Code(code) == spec.CodeInvalidRequest):
		d.Summary, d.Permitted = "The server refuses a tool with optional tasks without a task.", "the result of the call, or taskSupport: required"
		out.Report(d)
	case created || !asked && c.succeeded():
		out.MarkObserved(toolOptional)
	}
}
