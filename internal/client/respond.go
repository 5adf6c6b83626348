package client

import (
	"fmt"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// respond returns the response of a well-behaved client, which declared the capabilities caps, to a
// request of the server.
func respond(m *wire.Message, caps map[string]any) []byte {
	declared := func(name string) bool { _, ok := caps[name]; return ok }
	switch {
	case m.Method == spec.MethodPing:
		return wire.NewResult(m.ID, map[string]any{})
	case m.Method == spec.MethodRootsList && declared("roots"):
		return wire.NewResult(m.ID, map[string]any{"roots": []any{
			map[string]any{"uri": "file:///mcp-conform/root", "name": "mcp-conform"},
		}})
	case m.Method == spec.MethodSampling && declared("sampling"):
		return wire.NewResult(m.ID, map[string]any{
			"role":       "assistant",
			"content":    map[string]any{"type": "text", "text": "a sampled answer"},
			"model":      "mcp-conform",
			"stopReason": "endTurn",
		})
	case m.Method == spec.MethodElicit && declared("elicitation"):
		return wire.NewResult(m.ID, map[string]any{"action": "decline"})
	default:
		return wire.NewError(m.ID, int64(spec.CodeMethodNotFound), fmt.Sprintf("this client does not support %.100s", m.Method), nil)
	}
}
