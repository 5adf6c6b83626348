package suite

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// AwaitRunning waits for the first progress at or after the given position, or the response to the
// call with the id, for the timeout of the conversation at most. It reports whether progress came
// first, which means that the call is still running.
func AwaitRunning(ctx context.Context, c *client.Conversation, from int, id wire.ID) bool {
	first, err := c.Await(ctx, from, func(e *transcript.Event) bool {
		return e.Kind == transcript.Received && HasMessage(e, isProgress) || e.ResponseTo(id) != nil
	}, client.Within(0))
	return err == nil && first.ResponseTo(id) == nil
}

// HasMessage reports whether a message of the event matches.
func HasMessage(e *transcript.Event, match func(*wire.Message) bool) bool {
	for i := range e.Messages() {
		if match(&e.Messages()[i]) {
			return true
		}
	}
	return false
}

func isProgress(m *wire.Message) bool { return m.Method == spec.MethodProgress }
