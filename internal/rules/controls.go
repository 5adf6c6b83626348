package rules

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/control"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// Ordinary picks the requests with which an odd one is compared before its
// refusal is interpreted. What a server refuses in any case it did not refuse
// for what is odd.
type Ordinary struct {
	// What names such a request in a sentence, as in "a call with valid arguments".
	What string
	// Is reports whether a request differs from the odd one only in what is odd.
	Is func(a *Asked) bool
	// Else picks the requests to compare with where there is none of the former;
	// may be nil.
	Else func(a *Asked) bool
	// ByName: what is odd is a name. Whatever an ordinary request gets other
	// than the same refusal shows that the server found what it names.
	ByName bool
}

// AnyPing is what a request is compared with whose whole method is odd.
func AnyPing() Ordinary {
	return Ordinary{What: "a ping", ByName: true, Is: func(a *Asked) bool {
		return a.Message.Method == spec.MethodPing || a.Message.Method == spec.MethodDiscover
	}}
}

// mostCompared bounds how many requests before and after an odd one are looked at.
const mostCompared = 500

// Telling reports whether the response to an odd request may be interpreted:
// it is a result, or a refusal that the nearest ordinary request did not get. Otherwise the requirements are not observed, with the reason; unless
// they come up elsewhere.
func (o *Out) Telling(h *Heard, like Ordinary, requirements ...string) bool {
	if control.Served(h.Message) {
		return true
	}
	why := o.session.control(h, like).Unclear(control.Got(h.Asked.Message.Params(), h.Message), like.ByName)
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
func (s *Session) control(h *Heard, like Ordinary) control.Control {
	at := max(slices.Index(s.requests, h.Asked), 0)
	found := s.nearest(h.Asked, at, -1, like)
	if found == nil || !like.Is(found) {
		if after := s.nearest(h.Asked, at, +1, like); after != nil && (found == nil || like.Is(after)) {
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
func (s *Session) nearest(odd *Asked, at, step int, like Ordinary) *Asked {
	var other *Asked
	for i, looked := at+step, 0; i >= 0 && i < len(s.requests) && looked < mostCompared; i += step {
		a := s.requests[i]
		if a == odd || len(a.Responses) == 0 || a.Responses[0].IsOverloadError() || !a.Regular() || a.Withdrawn() {
			continue
		}
		looked++
		switch {
		case like.Is(a):
			return a
		case other == nil && like.Else != nil && like.Else(a):
			other = a
		}
	}
	return other
}
