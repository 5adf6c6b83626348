package resources

import (
	"context"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func subscribeToResources(ctx context.Context, t *suite.T) {
	c := conversationAfterListing(ctx, t)
	uris := slices.Clone(firstN(maxSubscriptions, t.Inventory.Resources))
	if uri, ok := missingURI(t.Inventory.Resources, t.Inventory.Templates); ok {
		uris = append(uris, uri)
	}
	for _, uri := range uris {
		r := changeSubscription(ctx, c, spec.MethodResourcesSubscribe, uri)
		if r.Succeeded() {
			changeSubscription(ctx, c, spec.MethodResourcesUnsubscribe, uri)
			changeSubscription(ctx, c, spec.MethodResourcesUnsubscribe, uri) // a result or an error is permitted, but the server must survive
		} else if !r.Answered() {
			return
		}
	}
}

func subscribeUndeclared(ctx context.Context, t *suite.T) {
	if t.Inventory.Declares("resources.subscribe") {
		t.Skip("the server declares subscriptions")
	}
	uris := firstN(1, t.Inventory.Resources)
	if len(uris) == 0 {
		t.GiveUp("the server lists no resource to subscribe to")
	}
	c := sharedConversation(ctx, t)
	if changeSubscription(ctx, c, spec.MethodResourcesSubscribe, uris[0]).Succeeded() {
		changeSubscription(ctx, c, spec.MethodResourcesUnsubscribe, uris[0])
	}
}

// changeSubscription sends resources/subscribe or resources/unsubscribe for a URI.
func changeSubscription(ctx context.Context, c *client.Conversation, method, uri string) *client.Reply {
	return c.Do(ctx, method, map[string]any{"uri": uri}, client.Within(0))
}

// provokeUpdates changes a resource while the client is subscribed to it, again after another
// subscription has ended, again after the subscription to this resource has ended, and then
// twice, each time after the client has subscribed to it again.
func provokeUpdates(ctx context.Context, t *suite.T) {
	t.RequireTool(inventory.ChangesResource)
	_, uri, _ := t.Inventory.ResourceChangeCall()
	c := t.Conversation(ctx)
	changes := 0
	call := func() {
		changes++
		change, _, _ := t.Inventory.NumberedResourceChangeCall(changes)
		c.Do(ctx, spec.MethodToolsCall, change.Params(), client.Within(0))
		_ = c.AwaitQuiet(ctx) // the update may come a little later
	}
	// announces reports whether the server announces a change. If it does not, further changes show
	// nothing.
	announces := func() bool {
		readResource(ctx, c, uri)
		readResource(ctx, c, uri) // shows that a read by itself changes nothing
		from := c.Record.Len()
		call()
		readResource(ctx, c, uri)
		return t.AwaitNotification(ctx, c, from, spec.MethodResourcesUpdated)
	}
	others := subscribeConcurrently(ctx, c, uri, t.Inventory.Resources)
	if !announces() {
		return
	}
	// The subscription must outlive another one, a refusal, and a cancellation.
	if len(others) > 0 {
		changeSubscription(ctx, c, spec.MethodResourcesUnsubscribe, others[0])
	}
	c.Do(ctx, "com.example.mcp-conform/none", nil)
	_ = c.Cancel(ctx, c.NewID(), "nothing has this id")
	if !announces() {
		return
	}
	changeSubscription(ctx, c, spec.MethodResourcesUnsubscribe, uri)
	_ = c.AwaitQuiet(ctx) // messages in transit have come
	call()
	for range 2 {
		changeSubscription(ctx, c, spec.MethodResourcesSubscribe, uri)
		if !announces() {
			return
		}
	}
}

// subscribeConcurrently subscribes to a resource and to others in one write, because no
// subscription may end another. It returns the URIs of the others.
func subscribeConcurrently(ctx context.Context, c *client.Conversation, uri string, listed []string) (others []string) {
	requests := [][]byte{c.Request(c.NewID(), spec.MethodResourcesSubscribe, map[string]any{"uri": uri})}
	for _, other := range listed {
		// Neither URI may be a prefix of the other, because an update of a sub-resource may name
		// the resource above it.
		if len(requests) < maxSubscriptions && !strings.HasPrefix(uri, other) && !strings.HasPrefix(other, uri) {
			requests = append(requests, c.Request(c.NewID(), spec.MethodResourcesSubscribe, map[string]any{"uri": other}))
			others = append(others, other)
		}
	}
	c.DoAll(ctx, requests, client.Within(0))
	return others
}

// provokeListChange walks through the list before and after a change.
func provokeListChange(ctx context.Context, t *suite.T) {
	t.RequireTool(inventory.ChangesResources)
	change, _ := t.Inventory.ListChangeCall(spec.MethodResourcesList)
	c := t.Conversation(ctx)
	walkList(ctx, c, spec.MethodResourcesList)
	for range 2 { // the second call may remove what the first one added
		from := c.Record.Len()
		c.Do(ctx, spec.MethodToolsCall, change.Params(), client.Within(0))
		_ = c.AwaitQuiet(ctx) // the notification may come a little later
		walkList(ctx, c, spec.MethodResourcesList)
		if !t.Inventory.Declares("resources.listChanged") || !t.AwaitNotification(ctx, c, from, spec.MethodResourcesChanged) {
			return
		}
	}
}

// maxPages bounds a walk.
const maxPages = 50

// walkList walks through a list to its end.
func walkList(ctx context.Context, c *client.Conversation, method string) {
	walkPages(ctx, c, method, func(*client.Reply) bool { return true })
}

// walkPages walks through a list. It calls its last argument for every page, until that function
// returns false.
func walkPages(ctx context.Context, c *client.Conversation, method string, each func(*client.Reply) (more bool)) {
	var params map[string]any
	for range maxPages {
		r := c.Do(ctx, method, params)
		if !r.Succeeded() || !each(r) {
			return
		}
		cursor, more := wire.Text(wire.At(r.Message.Result(), "/nextCursor"))
		if !more || cursor == "" && !c.Revision().HasEmptyCursors() {
			return
		}
		params = map[string]any{"cursor": cursor}
	}
}
