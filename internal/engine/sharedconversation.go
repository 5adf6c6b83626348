package engine

import (
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// A sharedConversation is the conversation that the cases of a revision share.
type sharedConversation struct {
	conv *client.Conversation // nil until opened
}

// openConversations are the conversations that the probe leaves open; the lanes go on with them.
type openConversations struct {
	byRevision map[spec.Revision]*sharedConversation
	pass       *pass // held while they are open; nil if none is
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
