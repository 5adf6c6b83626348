package discount

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// unannouncedChange voids, in a search, differences between two readings of all pages of a list
// over HTTP, if nothing tells the client when the list changes. The search calls tools in other
// conversations with the same server, and these calls may change the list. In the stateless era
// only a subscription tells the client.
type unannouncedChange struct{}

func (unannouncedChange) discount(c *Claim) (Effect, string) {
	if !c.Search || !spec.Requirements().Has(c.Requirement, spec.Walks) || len(c.Events) == 0 {
		return Counts, ""
	}
	overHTTP := slices.ContainsFunc(c.Events, func(e *transcript.Event) bool { return e.Exchange != 0 })
	for _, m := range transcript.Messages(c.Events, transcript.Sent) {
		if m.Method == spec.MethodInitialize || m.Method == spec.MethodListen {
			return Counts, ""
		}
	}
	if overHTTP {
		return Void, "another conversation of the search may have changed the list"
	}
	return Counts, ""
}
