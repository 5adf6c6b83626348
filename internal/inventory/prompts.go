package inventory

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Prompt is one entry of prompts/list.
type Prompt struct {
	Name        string
	Description string
	Arguments   []PromptArgument // those that have a name
	given       map[string]any   // values that are known to be good
}

// A PromptArgument is one argument of a prompt.
type PromptArgument struct {
	Name        string
	Description string
	Required    bool
}

// Values returns a value for each required argument or, if every is set, for each argument: the
// known good value, or else a plain string.
func (p Prompt) Values(every bool) map[string]any {
	out := map[string]any{}
	for _, a := range p.Arguments {
		if a.Required || every {
			out[a.Name] = "text"
			if v, ok := p.given[a.Name]; ok {
				out[a.Name] = v
			}
		}
	}
	return out
}

// RequiredArguments returns the names of the arguments that the prompt requires.
func (p Prompt) RequiredArguments() []string {
	var out []string
	for _, a := range p.Arguments {
		if a.Required {
			out = append(out, a.Name)
		}
	}
	return out
}

// promptsOf returns the prompt in an entry of prompts/list, or none if it has
// no name.
func promptsOf(item jsontext.Value, config Config) []Prompt {
	name, ok := wire.Text(wire.At(item, "/name"))
	if !ok {
		return nil
	}
	p := Prompt{Name: name, given: config.values(name)}
	p.Description, _ = wire.Text(wire.At(item, "/description"))
	for _, a := range wire.Elements(wire.At(item, "/arguments")) {
		if argument, ok := wire.Text(wire.At(a, "/name")); ok {
			description, _ := wire.Text(wire.At(a, "/description"))
			p.Arguments = append(p.Arguments, PromptArgument{argument, description, string(wire.At(a, "/required")) == "true"})
		}
	}
	return []Prompt{p}
}
