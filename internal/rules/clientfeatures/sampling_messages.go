package clientfeatures

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// said is one message of a sampling request, its content taken apart.
type said struct {
	role    string
	uses    []use
	results []result
	others  int // blocks of other types
}

// use is a tool_use block, and result a tool_result block.
type (
	use    struct{ id, name string }
	result struct {
		id  string
		raw jsontext.Value
	}
)

// conversation returns the messages of a sampling request.
func conversation(params jsontext.Value) []said {
	var out []said
	for _, m := range wire.Elements(wire.At(params, "/messages")) {
		role, _ := wire.Text(wire.At(m, "/role"))
		out = append(out, read(role, wire.At(m, "/content")))
	}
	return out
}

// read takes content apart, which is one block or an array of them. Blocks
// whose id is no text are left to whoever judges their shape.
func read(role string, content jsontext.Value) said {
	blocks := wire.Elements(content)
	if content.Kind() == '{' {
		blocks = []jsontext.Value{content}
	}
	s := said{role: role}
	for _, b := range blocks {
		kind, _ := wire.Text(wire.At(b, "/type"))
		switch kind {
		case "tool_use":
			id, _ := wire.Text(wire.At(b, "/id"))
			name, _ := wire.Text(wire.At(b, "/name"))
			s.uses = append(s.uses, use{id, name})
		case "tool_result":
			id, _ := wire.Text(wire.At(b, "/toolUseId"))
			s.results = append(s.results, result{id, b})
		default:
			s.others++
		}
	}
	return s
}

// answers reports whether one of the results is for the tool use.
func (s said) answers(id string) bool {
	return slices.ContainsFunc(s.results, func(r result) bool { return r.id == id })
}

// called reports whether the message has the tool use.
func (s said) called(id string) bool {
	return slices.ContainsFunc(s.uses, func(u use) bool { return u.id == id })
}
