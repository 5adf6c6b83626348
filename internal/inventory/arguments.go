package inventory

import (
	"maps"

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Arguments returns arguments for a call of the tool: the first of its known good arguments or, if
// there are none, the arguments that its schema requires, each as plain as possible. The error
// names the part of the schema that this package does not understand.
func (t Tool) Arguments() (map[string]any, error) {
	if len(t.given) > 0 {
		return maps.Clone(t.given[0]), nil
	}
	if t.plain == nil {
		return generate.Arguments(wire.At(t.Raw, "/inputSchema"))
	}
	plain, err := t.plain()
	return maps.Clone(plain), err
}

// maxGiven limits how many calls of a tool use its known good arguments.
const maxGiven = 20

// MoreArguments returns arguments for further calls of the tool. If good arguments are known, it
// returns all of them but the first; otherwise it returns those of generate.MoreArguments.
func (t Tool) MoreArguments() []map[string]any {
	if len(t.given) > 0 {
		return t.given[1:min(len(t.given), maxGiven)]
	}
	return generate.MoreArguments(wire.At(t.Raw, "/inputSchema"))
}

// EdgeArguments returns the arguments of generate.EdgeArguments, or none if good
// arguments are known.
func (t Tool) EdgeArguments() []map[string]any {
	if len(t.given) > 0 {
		return nil
	}
	return generate.EdgeArguments(wire.At(t.Raw, "/inputSchema"))
}

// ArgumentsWithText returns arguments, one of which is the given string. ok is false if the tool
// has no argument that certainly accepts every string, or if good arguments are known.
func (t Tool) ArgumentsWithText(text string) (arguments map[string]any, ok bool) {
	if len(t.given) > 0 {
		return nil, false
	}
	return generate.ArgumentsWithText(wire.At(t.Raw, "/inputSchema"), text)
}

// WrongArguments returns arguments each of which violates the tool's schema in one place, or none
// if Arguments fails.
func (t Tool) WrongArguments() []generate.InvalidArguments {
	right, err := t.Arguments()
	if err != nil {
		return nil
	}
	return generate.WrongArguments(wire.At(t.Raw, "/inputSchema"), right)
}

// RequiredArguments returns the names of the arguments that the tool's schema requires.
func (t Tool) RequiredArguments() []string {
	var out []string
	for _, e := range wire.Elements(wire.At(t.Raw, "/inputSchema/required")) {
		if name, ok := wire.Text(e); ok {
			out = append(out, name)
		}
	}
	return out
}
