package resources

import (
	"context"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

func subscriptions(ctx context.Context, t *suite.T) {
	c := listing(ctx, t)
	uris := slices.Clone(first(maxSubscriptions, t.Inventory.Resources))
	if uri, ok := missing(t.Inventory.Resources, t.Inventory.Templates); ok {
		uris = append(uris, uri)
	}
	for _, uri := range uris {
		r := subscription(ctx, c, spec.MethodResourcesSubscribe, uri)
		if r.Succeeded() {
			subscription(ctx, c, spec.MethodResourcesUnsubscribe, uri)
		} else if !r.Answered() {
			return
		}
	}
}

func subscribeUndeclared(ctx context.Context, t *suite.T) {
	if t.Inventory.Declares("resources.subscribe") {
		t.Skip("the server declares subscriptions")
	}
	uris := first(1, t.Inventory.Resources)
	if len(uris) == 0 {
		t.GiveUp("the server lists no resource to subscribe to")
	}
	c := shared(ctx, t)
	if subscription(ctx, c, spec.MethodResourcesSubscribe, uris[0]).Succeeded() {
		subscription(ctx, c, spec.MethodResourcesUnsubscribe, uris[0])
	}
}

func subscription(ctx context.Context, c *client.Conversation, method, uri string) *client.Reply {
	return c.Try(ctx, method, map[string]any{"uri": uri})
}

// changers are tools known to change a resource.
var changers = []struct {
	tool, uri string
	arguments func(n int) map[string]any
}{
	{"update-resource", "demo://note", func(n int) map[string]any { return map[string]any{"text": []string{"first", "second"}[n]} }},
}

// updates changes a resource while it is subscribed to, and after.
func updates(ctx context.Context, t *suite.T) {
	for _, change := range changers {
		if _, may := t.Inventory.Tool(change.tool); !may || !slices.Contains(t.Inventory.Resources, change.uri) {
			continue
		}
		c := t.Conversation(ctx)
		call := func(n int) {
			c.Try(ctx, spec.MethodToolsCall, map[string]any{"name": change.tool, "arguments": change.arguments(n)})
			_ = c.Quiet(ctx) // the update may come a little later
		}
		subscription(ctx, c, spec.MethodResourcesSubscribe, change.uri)
		read(ctx, c, change.uri)
		read(ctx, c, change.uri) // shows that reading alone changes nothing
		call(0)
		read(ctx, c, change.uri)
		subscription(ctx, c, spec.MethodResourcesUnsubscribe, change.uri)
		_ = c.Quiet(ctx) // what was in flight has come
		call(1)
		return
	}
	t.Skip("no tool that is known to change a resource may be called")
}

// listChangers are tools known to change the list of resources.
var listChangers = []struct {
	tool      string
	arguments map[string]any
}{
	{"trigger-list-changed", map[string]any{"list": "resources"}},
}

// changes walks the list before and after it changed.
func changes(ctx context.Context, t *suite.T) {
	for _, change := range listChangers {
		if _, may := t.Inventory.Tool(change.tool); !may {
			continue
		}
		c := t.Conversation(ctx)
		walk(ctx, c, spec.MethodResourcesList)
		c.Try(ctx, spec.MethodToolsCall, map[string]any{"name": change.tool, "arguments": change.arguments})
		_ = c.Quiet(ctx) // the notification may come a little later
		walk(ctx, c, spec.MethodResourcesList)
		_ = c.Fence(ctx)
		return
	}
	t.Skip("no tool that is known to change the list of resources may be called")
}

// maxPages bounds a walk.
const maxPages = 50

// walk goes through a list to its end.
func walk(ctx context.Context, c *client.Conversation, method string) {
	var params map[string]any
	for range maxPages {
		r := c.Ask(ctx, method, params)
		if !r.Succeeded() {
			return
		}
		cursor, more := wire.Text(wire.At(r.Message.Result(), "/nextCursor"))
		if !more || cursor == "" {
			return
		}
		params = map[string]any{"cursor": cursor}
	}
}
