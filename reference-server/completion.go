package refserver

import (
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// maxCompletions is the specification's limit on values in one result.
const maxCompletions = 100

// complete handles completion/complete: it returns the first maxCompletions values of a
// prompt argument or of a template variable that begin with what the user has typed.
func (c *Call) complete() (any, *Error) {
	f := c.fields()
	ref, err := f.optionalObject("ref")
	if err != nil {
		return nil, err
	}
	argument, err := f.optionalObject("argument")
	if err != nil {
		return nil, err
	}
	name, err := argument.requiredString("name")
	if err != nil {
		return nil, err
	}
	typed, err := argument.requiredString("value")
	if err != nil {
		return nil, err
	}
	filled, err := f.filledArguments()
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

// filledArguments returns the arguments that the user has already filled in. Clients
// may send them as context since 2025-06-18.
func (f fields) filledArguments() (map[string]string, *Error) {
	context, err := f.optionalObject("context")
	if err != nil {
		return nil, err
	}
	arguments, err := context.optionalObject("arguments")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name := range arguments {
		if out[name], err = arguments.requiredString(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// candidates returns all values of an argument of a prompt, or of a variable of a template; ref
// names the prompt or the template. For a template it returns only values that are compatible with
// those in filled. It returns no values for an unknown argument, or for a resource that is not a
// template. It returns an error if the server does not have what ref names.
func (c *Call) candidates(ref fields, argument string, filled map[string]string) ([]string, *Error) {
	kind, _ := wire.Text(ref["type"])
	switch kind {
	case "ref/prompt":
		name, err := ref.requiredString("name")
		if err != nil {
			return nil, err
		}
		p := c.prompt(name)
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
		uri, err := ref.requiredString("uri")
		if err != nil {
			return nil, err
		}
		for _, t := range c.templates() {
			if t.uri == uri {
				return t.completions(argument, filled), nil
			}
		}
		if c.findResource(uri) == nil {
			return nil, invalidParams("there is no such resource or template")
		}
		return nil, nil
	default:
		return nil, invalidParams("ref.type must be ref/prompt or ref/resource")
	}
}
