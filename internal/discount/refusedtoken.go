package discount

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// refusedToken voids what a case observed in a conversation in which the server refused a token with
// status 401, and later served an equal request with it; a rule judges the refusal. Once that has
// happened in a run, any refusal of a token voids what the case observed. Before that, if the server
// served only another request with the token, the reason may be the refused request, and every
// attempt must reproduce the deviation.
type refusedToken struct {
	count    int
	unsteady atomic.Bool // the server refused a request, and later served an equal one
}

func (r *refusedToken) observe(c Conversation) {
	for _, t := range c.Dialogue.Exchanges().TokenRefusals() {
		r.count++
		if t.Equal {
			r.unsteady.Store(true)
		}
	}
}

func (r *refusedToken) discount(c *Claim) (Effect, string) {
	const unsteady = "the server refused a token with status 401 that it accepts for equal requests"
	switch {
	case !c.ByCase:
		return Counts, ""
	case r.unsteady.Load() && slices.ContainsFunc(append([][]*transcript.Event{c.Events}, c.Conversations...), refusesToken):
		return Void, unsteady
	case spec.Requirements().Has(c.Requirement, spec.Capacity):
		return Counts, ""
	}
	effect, reason := Counts, ""
	for _, t := range transcript.ExchangesOf(c.Events).TokenRefusals() {
		switch {
		case t.Refused.Request == nil || t.Refused.Request.Seq < c.From:
		case t.Equal:
			return Void, unsteady
		default:
			effect, reason = EachTime, "the server refused a token with status 401, and later accepted it for another request"
		}
	}
	return effect, reason
}

// refusesToken reports whether the server refused a token in a conversation.
func refusesToken(events []*transcript.Event) bool {
	return slices.ContainsFunc(transcript.ExchangesOf(events).All(), (*transcript.Exchange).RefusesToken)
}

func (r *refusedToken) notice() string {
	switch r.count {
	case 0:
		return ""
	case 1:
		return "a request was refused with status 401, although the server served a later one with the same token"
	default:
		return fmt.Sprintf("%d requests were refused with status 401, although the server served later ones with the same token", r.count)
	}
}
