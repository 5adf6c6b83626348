package client

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestIsHung checks that a server hangs only if it responds to nothing any more.
func TestIsHung(t *testing.T) {
	for name, test := range map[string]struct {
		hangs, ignores string // methods: it never responds again, it does not respond
		fence          bool   // the client sends the request, and only waits for a fence
		want           bool
	}{
		"it hangs":                              {hangs: spec.MethodToolsList, want: true},
		"it hangs before a fence":               {hangs: spec.MethodToolsList, fence: true, want: true},
		"it ignores one request before a fence": {ignores: spec.MethodToolsList, fence: true},
		"it ignores one request":                {ignores: spec.MethodToolsList},
		"it responds":                           {},
	} {
		t.Run(name, func(t *testing.T) {
			hangs := false
			inBubble(t, Options{}, func(s *scripted, m *wire.Message) {
				hangs = hangs || m.Method == test.hangs
				if m.Kind == wire.Request && !hangs && m.Method != test.ignores {
					s.write(normalResponse(m))
				}
			}, func(t *testing.T, c *Conversation, _ *scripted) {
				if test.fence {
					_ = c.Send(t.Context(), c.Request(c.NewID(), spec.MethodToolsList, nil))
					_ = c.Fence(t.Context())
				} else {
					c.Do(t.Context(), spec.MethodToolsList, nil)
				}
				if got := c.IsHung(t.Context()); got != test.want {
					t.Errorf("IsHung is %v", got)
				}
			})
		})
	}
}
