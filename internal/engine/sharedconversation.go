package engine

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// A sharedConversation is a conversation that several cases of a revision share.
type sharedConversation struct {
	conv *client.Conversation // nil until opened
}

// openConversations are the conversations that the probe leaves open, and that the lanes continue.
type openConversations struct {
	byRevision map[spec.Revision]*sharedConversation
	pass       *pass // the pass for the conversations while they are open; nil if there are none
}

// end ends the conversations.
func (c *openConversations) end(e *ender) {
	for _, shared := range c.byRevision {
		e.endShared(shared)
	}
	if c.pass != nil {
		c.pass.leave()
	}
}

// unused returns the conversations that no lane continues.
func (c *openConversations) unused(units []*unit) []*sharedConversation {
	var out []*sharedConversation
	for rev, s := range c.byRevision {
		if !slices.ContainsFunc(units, func(u *unit) bool { return u.isLane() && u.revision == rev }) {
			out = append(out, s)
		}
	}
	return out
}
