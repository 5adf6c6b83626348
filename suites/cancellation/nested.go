package cancellation

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// nested makes two calls in which the server asks something, and leaves both
// questions open. It answers the one, so that its call can end; it cancels the
// other call, and answers its question when the server was given the time to
// cancel that, too.
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
	t.Quiet(ctx, c) // what the server asks of itself at the beginning has come
	calls, from := []wire.ID{c.NewID(), c.NewID()}, c.Record.Len()
	asked := questions(ctx, t, c, tool, calls)
	if len(asked) == 0 {
		t.GiveUp("the tool did not ask the client")
	}
	open := calls[0]
	if len(asked) > 1 {
		_ = c.Send(ctx, refusal(asked[1]))
		open = other(ctx, c, from, calls)
	}
	if c.Cancel(ctx, open, "the case wants to see what becomes of the request in it") != nil {
		t.GiveUp("the cancellation could not be sent")
	}
	t.Quiet(ctx, c)
	_ = c.Send(ctx, refusal(asked[0]))
	gone(ctx, c, c.Ask(ctx, c.Harmless(), nil).Err)
}

func refusal(m *wire.Message) []byte {
	return wire.NewError(m.ID, int64(spec.CodeInternal), "not now", nil)
}

// questions makes the calls and returns the first request of the server in
// each, as far as they come: a server may well do one thing after the other.
func questions(ctx context.Context, t *suite.T, c *client.Conversation, tool inventory.Known, calls []wire.ID) []*wire.Message {
	var frames [][]byte
	for _, id := range calls {
		frames = append(frames, c.Request(id, spec.MethodToolsCall, tool.Params()))
	}
	from := c.Record.Len()
	if err := c.Send(ctx, frames...); err != nil {
		t.GiveUp("the tool could not be called: " + err.Error())
	}
	var asked []*wire.Message
	_, _ = c.SettleFor(ctx, from, func(e *transcript.Event) bool {
		if e.Kind != transcript.Received {
			return false
		}
		for i := range e.Messages() {
			if m := &e.Messages()[i]; m.Kind == wire.Request && m.Method != spec.MethodPing && len(asked) < len(calls) {
				asked = append(asked, m)
			}
		}
		return len(asked) == len(calls)
	})
	return asked
}

// other waits for the end of one of the calls and returns the other.
func other(ctx context.Context, c *client.Conversation, from int, calls []wire.ID) wire.ID {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Options().Timeout, client.ErrUnanswered)
	defer cancel()
	ended, err := c.Await(ctx, from, func(e *transcript.Event) bool {
		return e.Kind == transcript.Received && (suite.Carries(e, suite.Answers(calls[0])) || suite.Carries(e, suite.Answers(calls[1])))
	})
	if err == nil && suite.Carries(ended, suite.Answers(calls[0])) {
		return calls[1]
	}
	return calls[0]
}
