package suite

import (
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/generate"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// RefusalOf returns an error response to a request of the server.
func RefusalOf(m *wire.Message) []byte {
	return wire.NewError(m.ID, int64(spec.CodeInternal), "not now", nil)
}

// LeaveOpen returns a function for client.Options.Answer. It responds to pings,
// leaves other requests of the server without a response while open is set, and
// refuses them otherwise.
func LeaveOpen(open *atomic.Bool) func(m *wire.Message) []byte {
	return func(m *wire.Message) []byte {
		switch {
		case m.Method == spec.MethodPing:
			return wire.NewResult(m.ID, map[string]any{})
		case open.Load():
			return nil
		default:
			return RefusalOf(m)
		}
	}
}

// Accept returns a user's response to an elicitation. The user agrees to visit a page, or fills in
// a form. Accept declines a form that the client does not understand.
func Accept(m *wire.Message) []byte {
	if mode, _ := wire.Text(wire.At(m.Params(), "/mode")); mode == "url" {
		return wire.NewResult(m.ID, map[string]any{"action": "accept"})
	}
	content, err := generate.Form(wire.At(m.Params(), "/requestedSchema"))
	if err != nil {
		return wire.NewResult(m.ID, map[string]any{"action": "decline"})
	}
	return wire.NewResult(m.ID, map[string]any{"action": "accept", "content": content})
}
