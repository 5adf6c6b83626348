package cancellation

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// danglingNotifications are notifications that refer to nothing, most of them malformed.
var danglingNotifications = []struct {
	method string
	params map[string]any
}{
	{spec.MethodCancelled, map[string]any{"requestId": 4_000_000_007, "reason": "never asked"}},
	{spec.MethodCancelled, map[string]any{"requestId": "mcp-conform/none"}},
	{spec.MethodCancelled, nil},
	{spec.MethodCancelled, map[string]any{}},
	{spec.MethodCancelled, map[string]any{"reason": "nothing"}},
	{spec.MethodCancelled, map[string]any{"requestId": nil}},
	{spec.MethodCancelled, map[string]any{"requestId": true}},
	{spec.MethodCancelled, map[string]any{"requestId": map[string]any{"id": 1}}},
	{spec.MethodProgress, map[string]any{"progressToken": "mcp-conform/none", "progress": 1, "total": 2}},
	{spec.MethodProgress, map[string]any{"progressToken": 4_000_000_007, "progress": 0.5}},
}

// cancelPointlessly cancels a request that was answered, and then sends each of
// danglingNotifications. A harmless request follows each, to find out which one a server can't
// handle. If the server has ended, the next notification goes to a new server.
func cancelPointlessly(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	id := c.NewID()
	if c.Do(ctx, c.HarmlessMethod(), nil, client.WithID(id)).Answered() {
		_ = c.Cancel(ctx, id, "too late")
		c = conversationAfter(ctx, t, c)
	}
	for _, n := range danglingNotifications {
		if n.method == spec.MethodProgress && t.Revision.Era() == spec.Stateless {
			continue // in the stateless era clients send no progress
		}
		var params any // nil if there are none
		if n.params != nil {
			params = n.params
		}
		_ = c.Send(ctx, wire.NewNotification(n.method, params)) // the fence reports why this can't be sent
		c = conversationAfter(ctx, t, c)
	}
	t.AwaitQuiet(ctx, c)
}

// conversationAfter returns the conversation if the server still responds, and a new one if the
// server has ended. It gives up on an unresponsive server, so that such a server costs the timeout
// only once.
func conversationAfter(ctx context.Context, t *suite.T, c *client.Conversation) *client.Conversation {
	r := c.Do(ctx, c.HarmlessMethod(), nil)
	switch {
	case r.Answered():
		return c
	case !suite.HasEnded(ctx, c, r.Err):
		t.GiveUp("the server no longer answers: " + suite.Describe(r))
	}
	return t.Start(ctx, client.Options{})
}

// requireFence waits until the server has read everything sent so far, which the response to a
// later request shows. It ends the case if the server does not respond.
func requireFence(ctx context.Context, t *suite.T, c *client.Conversation) {
	if err := c.Fence(ctx); err != nil {
		suite.HasEnded(ctx, c, err)
		t.GiveUp("the server did not answer a later request: " + err.Error())
	}
}
