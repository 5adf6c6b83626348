package tasks

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	toolForbidden = "tasks.tool-forbidden-error"
	toolRequired  = "tasks.tool-required-error"
	toolOptional  = "tasks.tool-optional"
)

// What tools say of tasks.
const (
	forbidden = "forbidden"
	optional  = "optional"
	required  = "required"
	unclear   = ""
)

// support is what is known of a tool.
type support struct {
	tasks string // forbidden, optional, required, or unclear where lists differ
	bare  bool   // its input schema asks for no argument
}

func toolRules() []rules.Rule {
	return []rules.Rule{{
		ID:           "rule.tasks-tool-support",
		Title:        "tools run as tasks as they say they do",
		Requirements: []string{toolForbidden, toolRequired, toolOptional},
		Start: atEnd(func(l *ledger, out *rules.Out) {
			if !l.s.ServerDeclared(toolCalls) {
				return
			}
			for _, c := range l.calls {
				if c.reply == nil {
					continue
				}
				switch l.support[c.name].tasks {
				case forbidden:
					judgeForbidden(c, out)
				case required:
					judgeRequired(c, l.support[c.name].bare, out)
				case optional:
					judgeOptional(c, out)
				}
			}
		}),
	}}
}

// readTools learns what tools say of tasks. Where the list changes in the
// course of the conversation, it is not known what held when.
func (l *ledger) readTools() {
	l.support = map[string]support{}
	if slices.ContainsFunc(l.notes, func(n *note) bool { return n.message.Method == spec.MethodToolsChanged }) {
		return
	}
	for _, a := range l.s.All() {
		if a.Message.Method != spec.MethodToolsList || !a.Succeeded() {
			continue
		}
		for _, tool := range wire.Elements(wire.At(a.Replies[0].Result(), "/tools")) {
			name, ok := wire.Text(wire.At(tool, "/name"))
			if !ok {
				continue
			}
			have := supportOf(wire.At(tool, "/execution/taskSupport"))
			have.bare = len(wire.Elements(wire.At(tool, "/inputSchema/required"))) == 0
			if before, again := l.support[name]; again && before.tasks != have.tasks {
				have.tasks = unclear
			}
			l.support[name] = have
		}
	}
}

func supportOf(v []byte) support {
	if v == nil {
		return support{tasks: forbidden}
	}
	word, _ := wire.Text(v)
	if word == forbidden || word == optional || word == required {
		return support{tasks: word}
	}
	return support{tasks: unclear}
}

// judgeForbidden judges a call of a tool that can't be run as a task.
func judgeForbidden(c *call, out *rules.Out) {
	if !c.asTask {
		return
	}
	code, _ := c.reply.ErrorCode()
	d := verdict.Deviation{
		Requirement: toolForbidden,
		Permitted:   "an error with code -32601",
		Seen:        rules.Excerpt(c.reply.Raw),
		At:          c.at(),
	}
	switch {
	case spec.Code(code) == spec.CodeMethodNotFound:
		out.Subject(toolForbidden)
	case createdTask(c.reply) != nil:
		d.Summary = "A tool that forbids tasks is run as one."
		out.Found(d)
	case c.succeeded():
		d.Summary = "A call as a task of a tool that forbids them is not refused."
		out.Found(d)
	case spec.Code(code) == spec.CodeInvalidRequest || spec.Code(code) == spec.CodeInvalidParams:
		d.Summary = "A call as a task of a tool that forbids them is refused with another code."
		out.Found(d)
	}
}

// judgeRequired judges a call of a tool that can only be run as a task. The
// page has another code elsewhere for receivers that demand tasks.
func judgeRequired(c *call, bare bool, out *rules.Out) {
	if wire.At(c.asked.Message.Params(), "/task") != nil {
		return
	}
	code, isCode := c.reply.ErrorCode()
	d := verdict.Deviation{
		Requirement: toolRequired,
		Summary:     "A tool that requires tasks is called without one, and that is not refused with the code it should be.",
		Permitted:   "an error with code -32601",
		Seen:        rules.Excerpt(c.reply.Raw),
		At:          c.at(),
		Weight:      verdict.AtMostWarning,
	}
	fits := bare && c.arguments == "{}" // else it may be refused for its arguments
	switch {
	case spec.Code(code) == spec.CodeMethodNotFound:
		out.Subject(toolRequired)
		return
	case isCode && spec.Code(code) == spec.CodeInvalidRequest:
		d.Weight = verdict.OnlyNote
	case c.succeeded() && string(wire.At(c.reply.Result(), "/isError")) != "true":
		d.Summary = "A tool that requires tasks is run without one."
		d.Weight = verdict.Full
	case fits && (c.succeeded() || spec.Code(code) == spec.CodeInvalidParams):
		d.Weight = verdict.Full
	}
	out.Found(d)
}

// judgeOptional judges a call of a tool that can be run both ways.
func judgeOptional(c *call, out *rules.Out) {
	code, _ := c.reply.ErrorCode()
	asked := wire.At(c.asked.Message.Params(), "/task") != nil
	d := verdict.Deviation{Requirement: toolOptional, Seen: rules.Excerpt(c.reply.Raw), At: c.at()}
	switch created := createdTask(c.reply) != nil; {
	case asked && !c.asTask: // the client's mistake
	case c.asTask && spec.Code(code) == spec.CodeMethodNotFound:
		d.Summary, d.Permitted = "A tool whose tasks are optional can't be called as one.", "a task"
		out.Found(d)
	case !asked && created:
		d.Summary, d.Permitted = "A tool whose tasks are optional runs as one that was not asked for.", "the result of the call"
		out.Found(d)
	case !asked && (spec.Code(code) == spec.CodeMethodNotFound || spec.Code(code) == spec.CodeInvalidRequest):
		d.Summary, d.Permitted = "A tool whose tasks are optional can't be called without one.", "the result of the call, or required as what it says of tasks"
		out.Found(d)
	case created || !asked && c.succeeded():
		out.Subject(toolOptional)
	}
}
