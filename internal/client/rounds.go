package client

import (
	"context"
	"maps"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// maxRounds limits how many further requests Do sends to complete one request, because a server may
// keep requiring input.
const maxRounds = 8

// OneRound makes Do return the first result, even if that requires input.
func OneRound(w *wait) { w.oneRound = true }

// IsInputRequired reports whether the response is a result that requires input of
// the client before the request can be completed (2026-07-28,
// basic/patterns/mrtr#inputrequiredresult).
func (r *Reply) IsInputRequired() bool {
	if !r.Succeeded() {
		return false
	}
	kind, _ := wire.Text(wire.At(r.Message.Result(), "/resultType"))
	return kind == spec.ResultInputRequired
}

// NextRoundParams returns the params of the request that follows reply r, whose result requires
// input. They consist of the given params, which must be those of the first request, of the
// client's responses to the server's requests for input, and of the state exactly as the server
// sent it. ok is false if the client does not support the input that the server requires.
func (c *Conversation) NextRoundParams(params map[string]any, r *Reply) (next map[string]any, ok bool) {
	next = maps.Clone(params)
	if next == nil {
		next = map[string]any{}
	}
	delete(next, "inputResponses")
	delete(next, "requestState")
	if state := wire.At(r.Message.Result(), "/requestState"); state != nil {
		next["requestState"] = state
	}
	if inputs := transcript.InputRequests(r.Message); len(inputs) > 0 {
		responses := map[string]any{}
		for _, in := range inputs {
			response := c.inputResponse(in.Message)
			if response == nil {
				return nil, false
			}
			responses[in.Key] = response
		}
		next["inputResponses"] = responses
	}
	return next, true
}

// inputResponse returns the client's result for a request for input, or nil if the client gives
// none.
func (c *Conversation) inputResponse(in *wire.Message) jsontext.Value {
	m := *in
	m.ID = wire.StringID("input") // the reply functions need an id; it is not sent
	answer := c.opts.Answer
	if answer == nil {
		answer = func(m *wire.Message) []byte { return respond(m, c.opts.Capabilities) }
	}
	frame := answer(&m)
	if frame == nil {
		return nil
	}
	return wire.Parse(frame).Messages[0].Result()
}

// completeRounds sends a further request with the required input if reply r requires any, and does
// the same for each later reply, at most maxRounds times. It returns the last reply. In the
// handshake era, and with the option OneRound, it returns r.
func (c *Conversation) completeRounds(ctx context.Context, w *wait, method string, params map[string]any, r *Reply) *Reply {
	if c.opts.Revision.Era() == spec.Handshake || w.oneRound {
		return r
	}
	for range maxRounds {
		if !r.IsInputRequired() {
			break
		}
		next, ok := c.NextRoundParams(params, r)
		if !ok {
			break
		}
		w.id = c.NewID()
		r = c.do(ctx, w, c.Request(w.id, method, next))
	}
	return r
}
