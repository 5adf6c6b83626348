package rules

import (
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

// noteInputRequests records a result that requires input, and returns the requests in it, in the
// order of their keys.
func (s *Session) noteInputRequests(obs *Observation) []*Observation {
	round := &Round{
		Request: obs.Request, Result: transcript.Message{Message: obs.Message, Event: obs.Event},
		State: obs.Message.ResultAt("/requestState"), Inputs: map[string]*transcript.Request{},
	}
	if s.rounds = append(s.rounds, round); len(s.rounds) > maxRounds {
		s.rounds = s.rounds[1:]
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

// RoundOf returns the latest round that the request retries, or nil. A retry repeats the method
// and the name or URI, and has the same state or, without a state, a response under one of the
// keys.
func (s *Session) RoundOf(req *Request) *Round {
	if s.Era() == spec.Handshake || !isRetry(req.Message) {
		return nil
	}
	_, responses := wire.Members(req.Message.ParamAt("/inputResponses"))
	state := req.Message.ParamAt("/requestState")
	for i := len(s.rounds) - 1; i >= 0; i-- {
		r := s.rounds[i]
		before := r.Request.Message
		if r.Result.Event.Seq > req.Event.Seq || before.Method != req.Message.Method || string(headers.RawName(before)) != string(headers.RawName(req.Message)) {
			continue
		}
		if r.State != nil || state != nil {
			if string(r.State) == string(state) {
				return r
			}
			continue
		}
		for key := range responses {
			if r.Inputs[key] != nil {
				return r
			}
		}
	}
	return nil
}

// inputReplies returns the client's responses to inputRequests that a request carries, in their
// order.
func (s *Session) inputReplies(obs *Observation) []*Observation {
	if obs.Request == nil || obs.Message.Kind != wire.Request {
		return nil
	}
	round := s.RoundOf(obs.Request)
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

// WasRetried reports whether another request before this one retried the same round.
func (s *Session) WasRetried(r *Round, req *Request) bool {
	for _, other := range s.requests {
		if other == req {
			return false
		}
		if other.Event.Seq > r.Result.Event.Seq && s.RoundOf(other) == r {
			return true
		}
	}
	return false
}
