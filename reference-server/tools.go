package refserver

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// A tool is an MCP tool with its implementation.
type tool struct {
	name, title, description string
	since                    spec.Revision // the first revision that has it
	until                    spec.Revision // the last revision that has it; empty means that all later ones have it
	input                    []argument
	schema                   object                    // of the arguments, if input can't express it; requires check
	check                    func(given fields) string // returns what is wrong with the arguments, or ""
	output                   object                    // schema of structuredContent; nil if there is none
	writes                   bool                      // the negation of readOnlyHint
	idempotent               bool                      // idempotentHint
	needsSession             bool                      // the server must have sessions: the tool changes one, or sends messages that no JSON response can carry
	openWorld                bool                      // openWorldHint
	bare                     bool                      // its entry has no icons, and a title only in annotations
	hasMeta                  bool                      // its entry has _meta
	tasks                    string                    // taskSupport; empty means forbidden
	run                      func(c *Call, a values) object
}

func (t *tool) entry(r spec.Revision, options *Options) object {
	o := object{"name": t.name, "description": t.description, "inputSchema": t.inputSchema(r)}
	if !t.bare {
		addTitleAndIcons(o, r, t.title)
	}
	if t.hasMeta && r.AtLeast(spec.V20250618) {
		withMeta(o)
	}
	if r.AtLeast(spec.V20250326) {
		hints := object{"title": t.title, "readOnlyHint": !t.writes, "openWorldHint": t.openWorld}
		if t.writes {
			hints["destructiveHint"] = false
			hints["idempotentHint"] = t.idempotent
		}
		o["annotations"] = hints
	}
	if t.output != nil && r.AtLeast(spec.V20250618) {
		o["outputSchema"] = t.output
	}
	if t.tasks != "" && options.hasTasks(r) {
		o["execution"] = object{"taskSupport": t.tasks}
	}
	return o
}

func (t *tool) inputSchema(r spec.Revision) object {
	if t.schema != nil {
		return t.schema
	}
	return inputSchema(t.input, r)
}

// tools returns the tools that the server lists.
func (c *Call) tools() []*tool {
	withoutSession := c.Session.options.NoSessions && !c.isStateless()
	var out []*tool
	for _, t := range c.Session.options.allTools() {
		if t.isIn(c.Revision) && !(t.needsSession && withoutSession) {
			out = append(out, t)
		}
	}
	if c.offer().showsExtraItem("tools") {
		out = append(out, extraTool)
	}
	return out
}

func (t *tool) isIn(r spec.Revision) bool {
	return r.AtLeast(t.since) && (t.until == "" || t.until.AtLeast(r))
}

// allTools returns the tools of all revisions.
func (o *Options) allTools() []*tool {
	out := allTools()
	if o.Upstream != "" {
		out = append(slices.Clone(out), forecastTool)
	}
	if o.Fixtures {
		out = slices.Concat(fixtureTools(), out)
	}
	return slices.Concat(out, o.moreTools)
}

func (c *Call) toolsList() (any, *Error) {
	return listPage(c, "tools", c.tools(), func(t *tool) object { return t.entry(c.Revision, &c.Session.options) })
}

// toolsCall runs a tool. A malformed request gets an error. A mistake that a model
// could correct, such as an argument out of range, gets a result with isError since
// 2025-11-25, and an error in earlier revisions.
func (c *Call) toolsCall() (any, *Error) {
	f := c.fields()
	name, err := f.requiredString("name")
	if err != nil {
		return nil, err
	}
	given, err := f.optionalObject("arguments")
	if err != nil {
		return nil, err
	}
	for _, t := range c.tools() {
		if t.name != name {
			continue
		}
		run := func(c *Call) (any, *Error) { return t.call(c, given) }
		switch asTask, err := c.runsAsTask(t, f); {
		case err != nil:
			return nil, err
		case asTask:
			return c.startTask(f, run)
		default:
			return run(c)
		}
	}
	return nil, invalidParams("there is no such tool")
}

func (t *tool) call(c *Call, given fields) (any, *Error) {
	a, problem := t.read(given)
	switch {
	case problem == "":
		result := t.run(c, a)
		if c.protocolError != nil {
			return nil, c.protocolError
		}
		return result, nil
	case c.Revision.AtLeast(spec.V20251125):
		return errorResult("The arguments are not right: " + problem + "."), nil
	default:
		return nil, invalidParams("%s", problem)
	}
}

func (t *tool) read(given fields) (values, string) {
	if t.check != nil {
		return nil, t.check(given)
	}
	return readArguments(t.input, given)
}

// failWith makes the call return a JSON-RPC error instead of the tool's result.
func (c *Call) failWith(err *Error) { c.protocolError = err }

func textResult(text string) object { return object{"content": []object{textBlock(text)}} }

// errorResult returns the result of a failed tool.
func errorResult(text string) object {
	o := textResult(text)
	o["isError"] = true
	return o
}
