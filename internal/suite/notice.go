package suite

import (
	"context"
	"maps"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// AwaitNotification waits for a notification with the method, which announces a change, at or after
// the given position, for at most verdict.NoticeTime. Then it sends a request and waits for the
// response, because the absence of a notification only counts if the server still responds. It
// reports whether the notification came. In the stateless era changes are announced only to
// subscriptions, so without an open subscription AwaitNotification returns false at once. If the
// server refuses every GET, AwaitNotification waits only as long as Conversation.Grace says, except
// for an updated resource, whose notification may come on the stream of a POST.
func (t *T) AwaitNotification(ctx context.Context, c *client.Conversation, from int, method string) bool {
	if t.Revision.Era() == spec.Stateless && !isSubscribed(c) {
		return false
	}
	limit := verdict.NoticeTime
	if method != spec.MethodResourcesUpdated && transcript.ExchangesOf(c.Record.From(0)).RefusedAllGets() {
		limit = min(limit, c.Grace())
	}
	_, err := c.Await(ctx, from, func(e *transcript.Event) bool {
		return e.Kind == transcript.Received && HasMessage(e, func(m *wire.Message) bool { return m.Kind == wire.Notification && m.Method == method })
	}, client.Within(limit))
	_ = c.Fence(ctx)
	return err == nil
}

// isSubscribed reports whether a subscription was requested, and neither side ended it.
func isSubscribed(c *client.Conversation) bool {
	return c.Record.HasRequest(func(r *transcript.Request) bool {
		return r.Message.Method == spec.MethodListen && len(r.Cancellations) == 0 && r.Response() == nil
	})
}

// WalkAgain reads at most the given number of pages of a list once more, to see whether the list
// has changed since the inventory was taken. member is the member of the result that holds the
// items. If the list has changed and the server declares listChanged, WalkAgain gives the server
// time to send the notification. It ends the case if the inventory does not have the whole list.
func (t *T) WalkAgain(ctx context.Context, method, member string, pages int) {
	if t.Inventory.Incomplete[method] != "" {
		t.GiveUp("mcp-conform could not read the list to its end before")
	}
	c := t.Conversation(ctx)
	begun := c.Record.Len()
	earlier := c.Record.From(0)
	inventory.Walk(ctx, c, method, member, pages)
	last, changed := listChange(earlier, c.Record.From(begun), member)
	if t.Inventory.Declares(member+".listChanged") && changed {
		t.AwaitNotification(ctx, c, last, listChangedMethods[member])
	}
}

// listChange reports whether the events of a new walk show that a list changed since the last
// complete walk among the earlier events, and returns the position of the end of that earlier walk.
// A walk that stopped before the end of the list shows nothing.
func listChange(earlier, walk []*transcript.Event, member string) (since int, changed bool) {
	before, since := namesIn(earlier, member)
	after, _ := namesIn(walk, member)
	return since, len(before) > 0 && after != nil && !maps.Equal(before, after)
}

// listChangedMethods maps the member of a list result to the notification that
// the list has changed.
var listChangedMethods = map[string]string{"tools": spec.MethodToolsChanged, "prompts": spec.MethodPromptsChanged, "resources": spec.MethodResourcesChanged}

// namesIn returns the names on the pages of the last complete walk through a
// list, and the position of its end. The names are nil if no walk was complete.
func namesIn(events []*transcript.Event, member string) (names map[string]bool, last int) {
	walk := map[string]bool{}
	for e, m := range transcript.Messages(events, transcript.Received) {
		items := wire.At(m.Result(), "/"+member)
		if items == nil {
			continue
		}
		for _, item := range wire.Elements(items) {
			name, _ := wire.Text(wire.At(item, "/name"))
			walk[name] = true
		}
		if wire.At(m.Result(), "/nextCursor") == nil {
			names, last, walk = walk, e.Seq, map[string]bool{}
		}
	}
	return names, last
}
