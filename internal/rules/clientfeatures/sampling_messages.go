package clientfeatures

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// samplingMessage is one message of a sampling request, with its content parsed.
type samplingMessage struct {
	role    string
	uses    []toolUse
	results []toolResult
	others  int            // blocks of other types
	raw     jsontext.Value // nil if the message is not from a request
}

// toolUse is a tool_use block, and toolResult is a tool_result block.
type (
	toolUse    struct{ id, name string }
	toolResult struct {
		id  string
		at  string // the pointer to the block in its message
		raw jsontext.Value
	}
)

// samplingMessages returns the messages of a sampling request.
func samplingMessages(params jsontext.Value) []samplingMessage {
	var out []samplingMessage
	for _, m := range wire.Elements(wire.At(params, "/messages")) {
		role, _ := wire.Text(wire.At(m, "/role"))
		parsed := readContent(role, wire.At(m, "/content"))
		parsed.raw = m
		out = append(out, parsed)
	}
	return out
}

// readContent parses content, which is one block or an array of blocks. A tool_use or tool_result
// without a string as its id gets the id "": other rules judge its shape.
func readContent(role string, content jsontext.Value) samplingMessage {
	blocks, isArray := wire.Elements(content), true
	if content.Kind() == '{' {
		blocks, isArray = []jsontext.Value{content}, false
	}
	s := samplingMessage{role: role}
	for i, b := range blocks {
		kind, _ := wire.Text(wire.At(b, "/type"))
		switch kind {
		case "tool_use":
			id, _ := wire.Text(wire.At(b, "/id"))
			name, _ := wire.Text(wire.At(b, "/name"))
			s.uses = append(s.uses, toolUse{id, name})
		case "tool_result":
			id, _ := wire.Text(wire.At(b, "/toolUseId"))
			at := "/content"
			if isArray {
				at += "/" + strconv.Itoa(i)
			}
			s.results = append(s.results, toolResult{id, at, b})
		default:
			s.others++
		}
	}
	return s
}

// hasResultFor reports whether the message has a result for the tool use.
func (s samplingMessage) hasResultFor(id string) bool {
	return slices.ContainsFunc(s.results, func(r toolResult) bool { return r.id == id })
}

// hasUse reports whether the message has the tool use.
func (s samplingMessage) hasUse(id string) bool {
	return slices.ContainsFunc(s.uses, func(u toolUse) bool { return u.id == id })
}
