package stateless

import (
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/headers"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	supportedRequests = "mrtr.supported-requests-only"
	inputsOrState     = "mrtr.inputs-or-state"
	inputKinds        = "mrtr.input-request-kinds"
	inputKeysUnique   = "mrtr.input-request-keys-unique"
)

func inputRules() []rules.Rule {
	return []rules.Rule{{
		ID:           "rule.input-required",
		Title:        "only tools/call, prompts/get and resources/read get input_required results, which list the input",
		Requirements: []string{supportedRequests, inputsOrState, inputKinds, inputKeysUnique},
		Start: rules.WithoutState(rules.Fold{OnMessage: rules.MergeHandlers(
			rules.Handlers{rules.InputRequired(""): judgeInputRequired},
			rules.Handlers{rules.ResultOf(""): noteComplete},
		)}),
	}}
}

// noteComplete records that the server sent a complete result for a method whose results must not
// require input.
func noteComplete(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if isJudged(s, obs) && !headers.RequiresNameHeader(obs.Request.Message.Method) {
		out.MarkObserved(supportedRequests)
	}
}

func judgeInputRequired(s *rules.Session, obs *rules.Observation, out *rules.Reporter) {
	if !isJudged(s, obs) {
		return
	}
	d := deviationOf(supportedRequests, obs)
	if method := obs.Request.Message.Method; !headers.RequiresNameHeader(method) {
		d.Summary, d.Permitted = "The server requires input for a method that does not permit it.", "input_required only for tools/call, prompts/get and resources/read"
		out.Report(d)
		return
	}
	inputs, state := obs.Message.ResultAt("/inputRequests"), obs.Message.ResultAt("/requestState")
	names, values := wire.Members(inputs)
	d.Requirement, d.Permitted = inputsOrState, "inputRequests, requestState, or both"
	switch {
	case inputs == nil && state == nil:
		d.Summary = "The server requires input, but has no inputRequests or requestState."
		out.Report(d)
	case state == nil && inputs.Kind() == '{' && len(names) == 0:
		d.Summary, d.Weight = "The server requires input, but asks for none.", verdict.AtMostWarning
		out.Report(d)
	default:
		out.MarkObserved(inputsOrState)
	}
	if inputs.Kind() != '{' || len(names) == 0 {
		return // the shape rules report an inputRequests that is not an object
	}
	if i := indexOfRepeated(names); i >= 0 {
		d.Requirement, d.Summary, d.Permitted = inputKeysUnique, "The server's inputRequests have a key twice.", "each key once"
		d.Pointer, d.Seen = "/result/inputRequests", "the key "+rules.Excerpt(wire.Quote(names[i]))+" twice"
		out.Report(d)
	} else {
		out.MarkObserved(inputKeysUnique)
	}
	for _, name := range names {
		judgeInputRequest(name, values[name], obs, out)
	}
}

// indexOfRepeated returns the index of the first text that equals an earlier one, or -1.
func indexOfRepeated(texts []string) int {
	seen := map[string]bool{}
	for i, text := range texts {
		if seen[text] {
			return i
		}
		seen[text] = true
	}
	return -1
}

// judgeInputRequest judges the method of an entry of inputRequests; the shape rules judge its
// params.
func judgeInputRequest(key string, v []byte, obs *rules.Observation, out *rules.Reporter) {
	_, members := wire.Members(v)
	method, _ := wire.Text(members["method"])
	d := deviationOf(inputKinds, obs)
	d.Pointer = rules.InputPointer(key)
	d.Seen = fmt.Sprintf("the request %s under the key %s", rules.Excerpt(v), rules.Excerpt(wire.Quote(key)))
	switch {
	case capabilityOf(method) == "":
		d.Summary = "The server's inputRequests have a request of a kind that is not allowed."
		d.Permitted = spec.MethodElicit + ", " + spec.MethodSampling + " or " + spec.MethodRootsList
		out.Report(d)
	case members["id"] != nil || members["jsonrpc"] != nil:
		d.Summary, d.Permitted = "The server's input request has an id or a jsonrpc member.", "method and params; the key identifies the request"
		d.Fix = "Give each entry of inputRequests a method and params, and nothing else."
		d.Weight = verdict.AtMostWarning // the schema permits more members
		out.Report(d)
	default:
		out.MarkObserved(inputKinds)
	}
}
