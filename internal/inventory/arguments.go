package inventory

import (
	"maps"

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Arguments returns arguments for the tool: only those that its schema
// requires, each as plain as it can be. The error says why that can't be done;
// then the schema asks for more than is understood. Where arguments are known to
// be good, it returns the first of those.
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

// maxGiven is how many calls of a tool are made that the user told of.
const maxGiven = 20

// More returns arguments for further calls of the tool: those that are known to
// be good, but for the first; where none are, those that generate.MoreArguments
// returns.
func (t Tool) More() []map[string]any {
	if len(t.given) > 0 {
		return t.given[1:min(len(t.given), maxGiven)]
	}
	return generate.MoreArguments(wire.At(t.Raw, "/inputSchema"))
}

// Edges returns the arguments of generate.EdgeArguments; none where arguments are
// known to be good.
func (t Tool) Edges() []map[string]any {
	if len(t.given) > 0 {
		return nil
	}
	return generate.EdgeArguments(wire.At(t.Raw, "/inputSchema"))
}

// WithText returns arguments that have text in them, where any string may be in
// one of them and no arguments are known to be good.
func (t Tool) WithText(text string) (arguments map[string]any, ok bool) {
	if len(t.given) > 0 {
		return nil, false
	}
	return generate.ArgumentsWithText(wire.At(t.Raw, "/inputSchema"), text)
}

// WrongArguments returns arguments that break the tool's schema in one place each.
func (t Tool) WrongArguments() []generate.InvalidArguments {
	right, err := t.Arguments()
	if err != nil {
		return nil
	}
	return generate.WrongArguments(wire.At(t.Raw, "/inputSchema"), right)
}

// Required returns the names of the arguments that the tool's schema requires.
func (t Tool) Required() []string {
	var out []string
	for _, e := range wire.Elements(wire.At(t.Raw, "/inputSchema/required")) {
		if name, ok := wire.Text(e); ok {
			out = append(out, name)
		}
	}
	return out
}
