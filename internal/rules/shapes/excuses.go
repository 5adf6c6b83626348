package shapes

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// requiredArguments are the arguments that prompts were listed to require, by prompt.
type requiredArguments map[string][]string

// note reads a page of the prompts.
func (q requiredArguments) note(obs *rules.Observation) {
	if requestMethod(obs) != spec.MethodPromptsList {
		return
	}
	for _, prompt := range wire.Elements(wire.At(obs.Message.Result(), "/prompts")) {
		name := text(prompt, "/name")
		q[name] = nil
		for _, argument := range wire.Elements(wire.At(prompt, "/arguments")) {
			if string(wire.At(argument, "/required")) == "true" {
				q[name] = append(q[name], text(argument, "/name"))
			}
		}
	}
}

// explains reports whether the violation is a URI made of what the client gave
// wrongly: one that it asked for, an argument that is repeated, one that is no
// string, or a required one that was left out.
func (q requiredArguments) explains(v schema.Violation, obs *rules.Observation) bool {
	if v.Kind != schema.NotURI || obs.Request == nil {
		return false
	}
	params := obs.Request.Message.Params()
	_, given := wire.Members(wire.At(params, "/arguments"))
	there := text(obs.Message.Raw, v.Pointer)
	if requestMethod(obs) == spec.MethodResourcesRead && there == text(params, "/uri") {
		return true
	}
	for _, raw := range given {
		if argument, ok := wire.Text(raw); ok && argument == there || !ok && requestMethod(obs) == spec.MethodPromptsGet {
			return true
		}
	}
	return requestMethod(obs) == spec.MethodPromptsGet && slices.ContainsFunc(q[text(params, "/name")], func(name string) bool { return given[name] == nil })
}
