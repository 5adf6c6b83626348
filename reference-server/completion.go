package refserver

import (
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// maxCompletions is the specification's limit on values in one answer.
const maxCompletions = 100

// complete proposes values for an argument of a prompt or a variable of a
// resource template: those that begin with what the user has typed.
func (c *Call) complete() (any, *Error) {
	f := c.fields()
	ref, err := f.object("ref")
	if err != nil {
		return nil, err
	}
	argument, err := f.object("argument")
	if err != nil {
		return nil, err
	}
	name, err := argument.text("name")
	if err != nil {
		return nil, err
	}
	typed, err := argument.text("value")
	if err != nil {
		return nil, err
	}
	filled, err := f.filled()
	if err != nil {
		return nil, err
	}
	candidates, err := c.candidates(ref, name, filled)
	if err != nil {
		return nil, err
	}
	values := []string{}
	for _, v := range candidates {
		if strings.HasPrefix(v, typed) {
			values = append(values, v)
		}
	}
	total := len(values)
	values = values[:min(total, maxCompletions)]
	return object{"completion": object{"values": values, "total": total, "hasMore": total > len(values)}}, nil
}

// filled returns what the user has filled in already: since 2025-06-18 clients
// may tell it in a context.
func (f fields) filled() (map[string]string, *Error) {
	context, err := f.object("context")
	if err != nil {
		return nil, err
	}
	arguments, err := context.object("arguments")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name := range arguments {
		if out[name], err = arguments.text(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// candidates returns all values for the argument of what ref refers to, where
// others are filled in.
func (c *Call) candidates(ref fields, argument string, filled map[string]string) ([]string, *Error) {
	kind, _ := wire.Text(ref["type"])
	switch kind {
	case "ref/prompt":
		name, err := ref.text("name")
		if err != nil {
			return nil, err
		}
		p := c.Session.prompt(name)
		if p == nil {
			return nil, invalidParams("there is no such prompt")
		}
		for _, a := range p.arguments {
			if a.name == argument {
				return a.values, nil
			}
		}
		return nil, nil
	case "ref/resource":
		uri, err := ref.text("uri")
		if err != nil {
			return nil, err
		}
		for _, t := range c.Session.templates() {
			if t.uri == uri {
				return t.propose(argument, filled), nil
			}
		}
		if c.Session.find(uri) == nil {
			return nil, invalidParams("there is no such resource or template")
		}
		return nil, nil
	default:
		return nil, invalidParams("ref.type must be ref/prompt or ref/resource")
	}
}
