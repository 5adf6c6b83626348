package discount

import (
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// mixing voids what rules find in a conversation that was open together with others, if the server
// sends one client's responses to another. The rules may then have judged responses to another
// client. HTTP+SSE servers with one stream for all clients do this, so findings of rules about that
// transport still count.
type mixing struct{ found atomic.Bool }

func (m *mixing) discount(c *Claim) (Effect, string) {
	if m.found.Load() && c.Concurrent && !spec.SSE.IsSubjectOf(c.Requirement) {
		return Void, "the response may belong to another client"
	}
	return Counts, ""
}

// NoteMixing notes that a response to one client also reached another.
func (r *Run) NoteMixing() { r.mixing.found.Store(true) }

// MixesResponses reports whether a response to one client also reached another.
func (r *Run) MixesResponses() bool { return r.mixing.found.Load() }
