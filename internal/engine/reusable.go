package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
)

// Continue implements suite.Opener. Only cases that do not share the unit's conversation reuse
// servers. From the suitable servers that earlier cases left, Continue takes the most used one, so
// that less used ones remain for the cases that need them.
func (o *opener) Continue(ctx context.Context, co client.Options) *client.Conversation {
	if o.reusable == nil || o.during == nil || o.during.SharesConversation {
		return nil
	}
	co = o.options(co)
	usedMost := slices.SortedStableFunc(slices.Values(o.reusable.left), func(a, b *client.Conversation) int {
		return cmp.Compare(b.Record.Len(), a.Record.Len())
	})
	for _, left := range usedMost {
		if !left.CanContinue(co) || !o.reusable.suits(left, o.during) {
			continue
		}
		o.reusable.left = slices.DeleteFunc(o.reusable.left, func(c *client.Conversation) bool { return c == left })
		conv := left.Continue(co)
		if conv.Fence(ctx) == nil {
			o.LeaveForReuse(conv)
			conv.Record.BeginCase(o.during.ID)
			return conv
		}
	}
	return nil
}

// reusable holds the conversations of a unit whose servers later cases can reuse.
type reusable struct {
	left    []*client.Conversation        // conversations left by cases that have ended
	taken   []*client.Conversation        // conversations in use by the running case, or by the unit itself
	spoiled map[*client.Conversation]bool // whether a case has spoiled the server
	ended   map[*client.Conversation]bool // whether the conversation was ended, because no later case can reuse the server
}

// suits reports whether a case can reuse the server of a conversation.
func (r *reusable) suits(left *client.Conversation, c *suite.Case) bool {
	switch c.Reuses {
	case suite.ReuseAny:
		return true
	case suite.ReuseNone:
		return false
	case suite.ReuseUncalled:
		return !r.spoiled[left] && !slices.ContainsFunc(left.Record.Dialogue().Requests(), func(q *transcript.Request) bool {
			return q.Message.Method == spec.MethodToolsCall && (q.Response() == nil || !q.Response().IsError())
		})
	default:
		return !r.spoiled[left]
	}
}

// collect makes the conversations of the case that has just ended available to those of the
// following cases that can reuse them. isSpoiled reports whether that case spoiled their servers.
func (r *reusable) collect(isSpoiled bool, following []*suite.Case) {
	for _, conv := range r.taken {
		if !conv.Alive() || conv.Server().ProtocolVersion == "" {
			continue
		}
		if r.spoiled[conv] = isSpoiled; slices.ContainsFunc(following, func(c *suite.Case) bool { return r.suits(conv, c) }) {
			conv.Record.Remark("left to later cases")
			r.left = append(r.left, conv)
		}
	}
	r.taken = nil
}

// LeaveForReuse implements suite.Opener. Later cases can reuse the conversation's server once the
// running case has ended.
func (o *opener) LeaveForReuse(conv *client.Conversation) {
	if o.reusable != nil && !slices.Contains(o.reusable.taken, conv) {
		o.reusable.taken = append(o.reusable.taken, conv)
	}
}

// endUnused ends the servers that no later case can reuse.
func (o *opener) endUnused() {
	for _, conv := range o.conversations() {
		isUsed := func(c *client.Conversation) bool { return c.Record == conv.Record }
		if o.reusable.ended[conv] || o.shared != nil && o.shared.conv != nil && isUsed(o.shared.conv) || slices.ContainsFunc(o.reusable.left, isUsed) {
			continue
		}
		o.reusable.ended[conv] = true
		go o.s.end(conv, o.unit.occasion(conv), o.rerun.number > 0) // at its end, the unit waits for this to finish
	}
}
