package rules

import (
	"github.com/mcp-conform/mcp-conform/internal/control"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// A Control selects ordinary requests with which an odd request is compared before its refusal is
// interpreted. If the server refuses the ordinary request too, the refusal says nothing about
// what is odd.
type Control struct {
	// What describes an ordinary request in a sentence, as in "a call with valid arguments".
	What string
	// Matches reports whether a request differs from the odd one only in what is odd.
	Matches func(req *Request) bool
	// Fallback selects the requests to compare with if Matches selects none; it may be nil.
	Fallback func(req *Request) bool
	// ByName is set if the odd part is a name. The ordinary request then need not be served: if the
	// server refuses the odd and the ordinary request in different ways, it knows the name in the
	// ordinary one.
	ByName bool
}

// PingControl returns the control for a request whose method is odd: a ping, or server/discover.
func PingControl() Control {
	return Control{What: "a ping", ByName: true, Matches: func(req *Request) bool {
		return req.Message.Method == spec.MethodPing || req.Message.Method == spec.MethodDiscover
	}}
}

// maxCompared bounds how many requests before and after an odd one are examined.
const maxCompared = 500

// RequireInterpretable reports whether the response to an odd request may be interpreted. It may be
// interpreted if it is a result, or if the server served the control: the nearest ordinary request
// that the argument like selects. With Control.ByName, the ordinary request may also have been
// refused in another way. Otherwise RequireInterpretable marks the requirements as unclear, with
// the reason. An unclear requirement counts as not observed, unless another request shows it.
func (o *Reporter) RequireInterpretable(obs *Observation, like Control, requirements ...string) bool {
	if control.IsServed(obs.Message) {
		return true
	}
	ordinary := o.session.control(obs, like)
	if ordinary.Served {
		return true
	}
	why := ordinary.WhyUnclear(control.ResponseTo(obs.Request.Message.Params(), obs.Message), like.ByName)
	if why == "" {
		return true
	}
	for _, r := range requirements {
		o.MarkUnclear(r, why)
	}
	return false
}

// control returns the response to the nearest ordinary request: the last one before the odd
// request, or else the first one after it. Requests that Fallback selects are used only if Matches
// selects none. Only a rule that judges at the end sees requests after the odd one.
func (r *Requests) control(obs *Observation, like Control) control.Control {
	found := r.nearestControl(obs.Request, -1, like)
	if found == nil || !like.Matches(found) {
		if after := r.nearestControl(obs.Request, +1, like); after != nil && (found == nil || like.Matches(after)) {
			found = after
		}
	}
	if found == nil {
		return control.New(like.What, nil, nil)
	}
	return control.New(like.What, found.Message.Params(), found.Responses[0].Message)
}

// nearestControl returns the nearest ordinary request with a response, or nil: before the odd
// request if step is -1, after it if step is +1. It prefers requests that Matches selects to those
// that Fallback selects.
func (r *Requests) nearestControl(odd *Request, step int, like Control) *Request {
	var other *Request
	for i, looked := odd.Index+step, 0; i >= 0 && i < len(r.client) && looked < maxCompared; i += step {
		req := r.client[i]
		if len(req.Responses) == 0 || req.hasOverloadResponse() || !req.IsRegular() || req.MayBeCancelled() {
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
