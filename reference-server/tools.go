package refserver

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// tool is something that a model may have the server do.
type tool struct {
	name, title, description string
	since                    spec.Revision // older revisions do not have it
	input                    []argument
	schema                   object                    // of the arguments where input can't say it, with a check of its own
	check                    func(given fields) string // the problem with the arguments
	output                   object                    // schema of the structured result, nil when there is none
	writes                   bool                      // it changes something
	idempotent               bool                      // repeating it changes nothing more
	session                  bool                      // it needs a session: it leaves something behind or asks the client
	openWorld                bool                      // it deals with the world outside the server
	tagged                   bool                      // its entry has _meta
	tasks                    string                    // whether it can be called as a task; empty means forbidden
	run                      func(c *Call, a values) object
}

func (t *tool) entry(r spec.Revision, options *Options) object {
	o := object{"name": t.name, "description": t.description, "inputSchema": t.schema}
	if t.schema == nil {
		o["inputSchema"] = inputSchema(t.input, r)
	}
	decorate(o, r, t.title)
	if t.tagged && r.AtLeast(spec.V20250618) {
		tagged(o)
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

// tools returns the tools of the session in its revision.
func (s *Session) tools() []*tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*tool
	for _, t := range s.offer() {
		if s.revision.AtLeast(t.since) && !(t.session && s.o.NoSessions) {
			out = append(out, t)
		}
	}
	if s.extra["tools"] {
		out = append(out, extraTool)
	}
	return out
}

// offer returns the tools of all revisions.
func (s *Session) offer() []*tool {
	if s.o.Fixtures {
		return slices.Concat(fixtureTools(), allTools())
	}
	return allTools()
}

func (c *Call) toolsList() (any, *Error) {
	return page(c, "tools", c.Session.tools(), func(t *tool) object { return t.entry(c.Revision, &c.Session.o) })
}

// toolsCall runs a tool. What is wrong with the request itself is an error;
// what a model could correct, such as an argument out of range, is an error only
// before 2025-11-25 and a result with isError since.
func (c *Call) toolsCall() (any, *Error) {
	f := c.fields()
	name, err := f.text("name")
	if err != nil {
		return nil, err
	}
	given, err := f.object("arguments")
	if err != nil {
		return nil, err
	}
	for _, t := range c.Session.tools() {
		if t.name != name {
			continue
		}
		run := func(c *Call) (any, *Error) { return t.call(c, given) }
		switch asTask, err := c.asTask(t, f); {
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
		if c.raised != nil {
			return nil, c.raised
		}
		return result, nil
	case c.Revision.AtLeast(spec.V20251125):
		return failed("The arguments are not right: " + problem + "."), nil
	default:
		return nil, invalidParams("%s", problem)
	}
}

func (t *tool) read(given fields) (values, string) {
	if t.check != nil {
		return nil, t.check(given)
	}
	return read(t.input, given)
}

// raise makes the call end with an error instead of the tool's result.
func (c *Call) raise(err *Error) { c.raised = err }

func answered(text string) object { return object{"content": []object{textBlock(text)}} }

// failed is the result of a tool that could not do what it was asked to.
func failed(text string) object {
	o := answered(text)
	o["isError"] = true
	return o
}
