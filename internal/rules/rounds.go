package rules

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/headers"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A Round is a result that requires input from the client (2026-07-28, basic/patterns/mrtr).
type Round struct {
	Request *Request
	Result  transcript.Message
	State   jsontext.Value // its requestState; nil if it has none
	// Inputs are the requests in inputRequests, by key.
	Inputs map[string]*transcript.Request
}

// maxRounds bounds how many rounds are kept to match retries with.
const maxRounds = 200

// Rounds are the latest rounds of the conversation.
type Rounds struct {
	all []*Round // oldest first

	requests    *Requests
	negotiation *Negotiation
}

// noteInputRequests records a result that requires input, and returns the requests in it, in the
// order of their keys.
func (r *Rounds) noteInputRequests(obs *Observation) []*Observation {
	round := &Round{
		Request: obs.Request, Result: transcript.Message{Message: obs.Message, Event: obs.Event},
		State: obs.Message.ResultAt("/requestState"), Inputs: map[string]*transcript.Request{},
	}
	if r.all = append(r.all, round); len(r.all) > maxRounds {
		r.all = r.all[1:]
	}
	var out []*Observation
	for _, in := range transcript.InputRequests(obs.Message) {
		if round.Inputs[in.Key] != nil || in.Raw.Kind() != '{' {
			continue
		}
		round.Inputs[in.Key] = &transcript.Request{Event: obs.Event, Message: in.Message, Exchange: obs.Request.Exchange}
		if in.Method != "" {
			out = append(out, &Observation{Event: obs.Event, Message: in.Message, Request: obs.Request, ServerRequest: round.Inputs[in.Key], InputKey: in.Key})
		}
	}
	return out
}

// Of returns the latest round that the request retries, or nil. A retry repeats the method and the
// name or URI. It also repeats the requestState of the round or, if neither has one, has a response
// under the key of one of the inputs.
func (r *Rounds) Of(req *Request) *Round {
	if r.negotiation.Era() == spec.Handshake || !isRetry(req.Message) {
		return nil
	}
	_, responses := wire.Members(req.Message.ParamAt("/inputResponses"))
	state := req.Message.ParamAt("/requestState")
	for _, round := range slices.Backward(r.all) {
		before := round.Request.Message
		if round.Result.Event.Seq > req.Event.Seq || before.Method != req.Message.Method || string(headers.RawName(before)) != string(headers.RawName(req.Message)) {
			continue
		}
		if round.State != nil || state != nil {
			if string(round.State) == string(state) {
				return round
			}
			continue
		}
		for key := range responses {
			if round.Inputs[key] != nil {
				return round
			}
		}
	}
	return nil
}

// inputReplies returns the client's responses in the inputResponses of a request, in their order.
func (r *Rounds) inputReplies(obs *Observation) []*Observation {
	if obs.Request == nil || obs.Message.Kind != wire.Request {
		return nil
	}
	round := r.Of(obs.Request)
	if round == nil {
		return nil
	}
	var out []*Observation
	keys, values := wire.Members(obs.Message.ParamAt("/inputResponses"))
	for _, key := range keys {
		asked := round.Inputs[key]
		if asked == nil || len(asked.Responses) > 0 {
			continue
		}
		m := &wire.Message{Kind: wire.Response, Raw: values[key], Members: map[string]jsontext.Value{"result": values[key]}, Names: []string{"result"}}
		asked.Responses = append(asked.Responses, transcript.Message{Message: m, Event: obs.Event})
		out = append(out, &Observation{Event: obs.Event, Message: m, Request: obs.Request, ServerRequest: asked, InputKey: key})
	}
	return out
}

// isRetry reports whether a request carries input that an earlier result required, so that its
// outcome depends on that input.
func isRetry(m *wire.Message) bool {
	return m.ParamAt("/inputResponses") != nil || m.ParamAt("/requestState") != nil
}

// WasRetried reports whether another request before this one retried the same round.
func (r *Rounds) WasRetried(round *Round, req *Request) bool {
	for _, other := range r.requests.client {
		if other == req {
			return false
		}
		if other.Event.Seq > round.Result.Event.Seq && r.Of(other) == round {
			return true
		}
	}
	return false
}
