package engine

import (
	"context"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/suite"
)

// Continue implements suite.Opener. Only cases that do not share the conversation of the
// unit reuse servers, and the unit collects those that earlier cases left.
func (o *opener) Continue(ctx context.Context, co client.Options) *client.Conversation {
	if o.reusable == nil || o.during == nil || o.during.SharesConversation {
		return nil
	}
	co = o.options(co)
	for i := len(o.reusable.left) - 1; i >= 0; i-- {
		left := o.reusable.left[i]
		if !left.CanContinue(co) {
			continue
		}
		o.reusable.left = slices.Delete(o.reusable.left, i, i+1)
		conv := left.Continue(co)
		if conv.Fence(ctx) == nil {
			o.Leave(conv)
			conv.Record.BeginCase(o.during.ID)
			return conv
		}
	}
	return nil
}

// reusable holds the conversations of a unit whose servers later cases can reuse.
type reusable struct {
	left  []*client.Conversation        // left by cases that have ended
	taken []*client.Conversation        // in use by the running case, or by the unit itself
	ended map[*client.Conversation]bool // that no later case can reuse
}

// collect makes the conversations that the last case leaves available to the next one. The last
// case is nil before the first.
func (r *reusable) collect(last *suite.Case) {
	for _, conv := range r.taken {
		if conv.Alive() && !isSpoiled(conv, last) {
			conv.Record.Remark("left to later cases")
			r.left = append(r.left, conv)
		}
	}
	r.taken = nil
}

// isSpoiled reports whether no other case can continue the conversation, because the last case has
// left it in an unusual state, or its handshake failed.
func isSpoiled(conv *client.Conversation, by *suite.Case) bool {
	return by != nil && by.SpoilsServer || conv.Server().ProtocolVersion == ""
}

// Leave implements suite.Opener.
func (o *opener) Leave(conv *client.Conversation) {
	if o.reusable != nil && !slices.Contains(o.reusable.taken, conv) {
		o.reusable.taken = append(o.reusable.taken, conv)
	}
}

// endUnused ends the servers that no later case can use.
func (o *opener) endUnused() {
	for _, conv := range o.conversations() {
		isUsed := func(c *client.Conversation) bool { return c.Record == conv.Record }
		if o.reusable.ended[conv] || o.shared != nil && o.shared.conv != nil && isUsed(o.shared.conv) || slices.ContainsFunc(o.reusable.left, isUsed) {
			continue
		}
		o.reusable.ended[conv] = true
		go o.s.end(conv, o.unit.occasion(conv), o.rerun.number > 0) // the unit waits for it when it ends
	}
}
