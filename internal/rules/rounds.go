package rules

import (
	"slices"
	"strings"

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
	State   jsontext.Value // the result's requestState; nil if it has none
	// Inputs are the requests in inputRequests, by key.
	Inputs map[string]*transcript.Request
}

// maxRounds is the maximum number of rounds that are kept. Retries of older rounds are not
// recognized.
const maxRounds = 200

// Rounds are the latest rounds of the conversation, at most maxRounds.
type Rounds struct {
	all []*Round // oldest first

	requests    *Requests
	negotiation *Negotiation
}

// noteInputRequests records a result that requires input, and returns the requests in its
// inputRequests, in the order in which they appear. It skips entries that are not requests.
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
			out = append(out, &Observation{Event: obs.Event, Message: in.Message, Request: obs.Request, ServerRequest: round.Inputs[in.Key], InputKey: &in.Key})
		}
	}
	return out
}

// InputPointer returns the pointer to an entry of inputRequests in a message.
func InputPointer(key string) string {
	return "/result/inputRequests/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// Of returns the latest round that req retries, or nil. A retry has the same method, and the same
// name or URI, as the request of the round. Its requestState is that of the round's result. If the
// retry and the result both have no requestState, the retry must respond to at least one of the
// round's inputs.
func (r *Rounds) Of(req *Request) *Round {
	if r.negotiation.Era() == spec.Handshake || !IsRetry(req.Message) {
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

// RequiredUndeclared reports whether the server required input of the given method in the result of
// a repeat of req (see Request.IsRepeatOf), although that repeat did not declare the capability.
func (r *Rounds) RequiredUndeclared(req *Request, method, capability string) bool {
	if r.negotiation.Era() == spec.Handshake {
		return false
	}
	for _, round := range r.all {
		if round.Request.Declares(capability) || !round.Request.IsRepeatOf(req) {
			continue
		}
		for _, in := range round.Inputs {
			if in.Message.Method == method {
				return true
			}
		}
	}
	return false
}

// inputReplies returns the client's responses in the inputResponses of a retry, in the order in
// which they appear, and records each as the response to its input. It skips those to unknown
// inputs, and to inputs that already have a response.
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
		out = append(out, &Observation{Event: obs.Event, Message: m, Request: obs.Request, ServerRequest: asked, InputKey: &key})
	}
	return out
}

// IsRetry reports whether a request has inputResponses or a requestState, so that its outcome may
// depend on an earlier result.
func IsRetry(m *wire.Message) bool {
	return m.ParamAt("/inputResponses") != nil || m.ParamAt("/requestState") != nil
}

// WasRetried reports whether a request before req already retried the round.
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
