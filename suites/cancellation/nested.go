package cancellation

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// nested leaves the server's request unanswered, cancels the call on whose
// behalf it was sent, and answers when the server was given the time to cancel
// its request, too.
func nested(ctx context.Context, t *suite.T) {
	tool, ok := t.Inventory.Asking()
	if !ok {
		t.Skip("no tool that is known to ask the client may be called")
	}
	c := t.Start(ctx, client.Options{Answer: func(m *wire.Message) []byte {
		if m.Method == spec.MethodPing {
			return wire.NewResult(m.ID, map[string]any{})
		}
		return nil
	}})
	id, from := c.NewID(), c.Record.Len()
	if err := c.Send(ctx, c.Request(id, spec.MethodToolsCall, tool.Params())); err != nil {
		t.GiveUp("the tool could not be called: " + err.Error())
	}
	asked := question(ctx, c, from, id)
	if asked == nil {
		t.GiveUp("the tool did not ask the client")
	}
	if c.Cancel(ctx, id, "the case wants to see what becomes of the request in it") != nil {
		t.GiveUp("the cancellation could not be sent")
	}
	t.Quiet(ctx, c)
	_ = c.Send(ctx, wire.NewError(asked.ID, int64(spec.CodeInternal), "too late", nil))
	t.Fence(ctx, c)
}

// question returns the server's first request since from, or nil where the
// call was answered before any came.
func question(ctx context.Context, c *client.Conversation, from int, call wire.ID) *wire.Message {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Options().Timeout, client.ErrUnanswered)
	defer cancel()
	var asked *wire.Message
	_, _ = c.Await(ctx, from, func(e *transcript.Event) bool {
		if e.Kind != transcript.Received {
			return false
		}
		for i := range e.Messages() {
			if m := &e.Messages()[i]; m.Kind == wire.Request && m.Method != spec.MethodPing {
				asked = m
			}
		}
		return asked != nil || carries(e, answers(call))
	})
	return asked
}
