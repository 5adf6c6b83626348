package suite

import (
	"sync/atomic"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Refuse returns an error response to a request of the server.
func Refuse(m *wire.Message) []byte {
	return wire.NewError(m.ID, int64(spec.CodeInternal), "not now", nil)
}

// LeaveOpen responds to pings; it leaves other requests of the server open
// while open is set, and refuses them otherwise. It is for
// client.Options.Answer.
func LeaveOpen(open *atomic.Bool) func(m *wire.Message) []byte {
	return func(m *wire.Message) []byte {
		switch {
		case m.Method == spec.MethodPing:
			return wire.NewResult(m.ID, map[string]any{})
		case open.Load():
			return nil
		default:
			return Refuse(m)
		}
	}
}
