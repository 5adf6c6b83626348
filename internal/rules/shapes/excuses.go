package shapes

import (
	"maps"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// requiredArguments are the required arguments of listed prompts, by prompt.
type requiredArguments map[string][]string

type requiredKey struct{}

// note records a page of prompts/list.
func (q requiredArguments) note(s *rules.Session, obs *rules.Observation) {
	if requestMethod(obs) != spec.MethodPromptsList {
		return
	}
	maps.Copy(q, rules.MemoResult(s, obs.Message, requiredKey{}, func() requiredArguments { return requiredIn(obs.Message) }))
}

// requiredIn returns the required arguments of the prompts in a result of prompts/list.
func requiredIn(m *wire.Message) requiredArguments {
	q := requiredArguments{}
	for _, prompt := range wire.Elements(m.ResultAt("/prompts")) {
		name := stringAt(prompt, "/name")
		q[name] = nil
		for _, argument := range wire.Elements(wire.At(prompt, "/arguments")) {
			if string(wire.At(argument, "/required")) == "true" {
				q[name] = append(q[name], stringAt(argument, "/name"))
			}
		}
	}
	return q
}

// isCausedByClient reports whether an invalid URI in a response results from the client's request.
// Either the request contains the same URI, as an argument or as the uri of a resources/read, or it
// is a prompts/get that lacks a required argument or has an argument that is not a string.
func (q requiredArguments) isCausedByClient(v schema.Violation, obs *rules.Observation) bool {
	if v.Kind != schema.NotURI || obs.Request == nil {
		return false
	}
	params := obs.Request.Message.Params()
	_, given := wire.Members(obs.Request.Message.ParamAt("/arguments"))
	uri := stringAt(obs.Message.Raw, v.Pointer)
	if requestMethod(obs) == spec.MethodResourcesRead && uri == stringAt(params, "/uri") {
		return true
	}
	for _, raw := range given {
		if argument, ok := wire.Text(raw); ok && argument == uri || !ok && requestMethod(obs) == spec.MethodPromptsGet {
			return true
		}
	}
	return requestMethod(obs) == spec.MethodPromptsGet && slices.ContainsFunc(q[stringAt(params, "/name")], func(name string) bool { return given[name] == nil })
}
