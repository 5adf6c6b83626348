package rules

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/control"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// Control picks the requests with which an odd one is compared before its
// refusal is interpreted. What a server refuses in any case it did not refuse
// for what is odd.
type Control struct {
	// What names such a request in a sentence, as in "a call with valid arguments".
	What string
	// Matches reports whether a request differs from the odd one only in what is odd.
	Matches func(req *Request) bool
	// Fallback picks the requests to compare with where there is none of the former;
	// may be nil.
	Fallback func(req *Request) bool
	// ByName: what is odd is a name. Whatever an ordinary request gets other
	// than the same refusal shows that the server found what it names.
	ByName bool
}

// PingControl is what a request is compared with whose whole method is odd.
func PingControl() Control {
	return Control{What: "a ping", ByName: true, Matches: func(req *Request) bool {
		return req.Message.Method == spec.MethodPing || req.Message.Method == spec.MethodDiscover
	}}
}

// maxCompared bounds how many requests before and after an odd one are looked at.
const maxCompared = 500

// IsInterpretable reports whether the response to an odd request may be interpreted:
// it is a result, or a refusal that the nearest ordinary request did not get. Otherwise the requirements are not observed, with the reason; unless
// they come up elsewhere.
func (o *Reporter) IsInterpretable(obs *Observation, like Control, requirements ...string) bool {
	if control.Served(obs.Message) {
		return true
	}
	why := o.session.control(obs, like).Unclear(control.Got(obs.Request.Message.Params(), obs.Message), like.ByName)
	if why == "" {
		return true
	}
	for _, r := range requirements {
		o.Unclear(r, why)
	}
	return false
}

// control returns what the ordinary request nearest to h got: the last before
// it, or where there is none, the first after it. Only a rule that judges at the
// end knows of one after it.
func (s *Session) control(obs *Observation, like Control) control.Control {
	at := max(slices.Index(s.requests, obs.Request), 0)
	found := s.nearest(obs.Request, at, -1, like)
	if found == nil || !like.Matches(found) {
		if after := s.nearest(obs.Request, at, +1, like); after != nil && (found == nil || like.Matches(after)) {
			found = after
		}
	}
	if found == nil {
		return control.Of(like.What, nil, nil)
	}
	return control.Of(like.What, found.Message.Params(), found.Responses[0].Message)
}

// nearest returns the ordinary request with a response that is nearest to the
// odd one in one direction, of those that Is picks where there are any.
func (s *Session) nearest(odd *Request, at, step int, like Control) *Request {
	var other *Request
	for i, looked := at+step, 0; i >= 0 && i < len(s.requests) && looked < maxCompared; i += step {
		req := s.requests[i]
		if req == odd || len(req.Responses) == 0 || req.Responses[0].IsOverloadError() || !req.IsRegular() || req.MayBeCancelled() {
			continue
		}
		looked++
		switch {
		case like.Matches(req):
			return req
		case other == nil && like.Fallback != nil && like.Fallback(req):
			other = req
		}
	}
	return other
}
