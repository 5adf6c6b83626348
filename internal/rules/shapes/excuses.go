package shapes

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// requires are the arguments that prompts were listed to require, by prompt.
type requires map[string][]string

// note reads a page of the prompts.
func (q requires) note(h *rules.Heard) {
	if asked(h) != spec.MethodPromptsList {
		return
	}
	for _, prompt := range wire.Elements(wire.At(h.Message.Result(), "/prompts")) {
		name := text(prompt, "/name")
		q[name] = nil
		for _, argument := range wire.Elements(wire.At(prompt, "/arguments")) {
			if string(wire.At(argument, "/required")) == "true" {
				q[name] = append(q[name], text(argument, "/name"))
			}
		}
	}
}

// excuse reports whether the violation is a URI made of what the client gave
// wrongly: one that it asked for, an argument that is repeated, one that is no
// string, or a required one that was left out.
func (q requires) excuse(v schema.Violation, h *rules.Heard) bool {
	if v.Kind != schema.NotURI || h.Asked == nil {
		return false
	}
	params := h.Asked.Message.Params()
	_, given := wire.Members(wire.At(params, "/arguments"))
	there := text(h.Message.Raw, v.Pointer)
	if asked(h) == spec.MethodResourcesRead && there == text(params, "/uri") {
		return true
	}
	for _, raw := range given {
		if argument, ok := wire.Text(raw); ok && argument == there || !ok && asked(h) == spec.MethodPromptsGet {
			return true
		}
	}
	return asked(h) == spec.MethodPromptsGet && slices.ContainsFunc(q[text(params, "/name")], func(name string) bool { return given[name] == nil })
}
