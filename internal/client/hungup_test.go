package client

import (
	"errors"
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestNoWaitAfterOutputClosed checks that no caller waits for a server that closed its stdout, although
// messages can still be written to it.
func TestNoWaitAfterOutputClosed(t *testing.T) {
	hangsUp := func(s *scripted, m *wire.Message) {
		if m.Method == spec.MethodPing {
			s.rec.Add(transcript.Event{Kind: transcript.OutputClosed})
		}
	}
	inBubble(t, Options{Timeout: time.Hour}, hangsUp, func(t *testing.T, c *Conversation, _ *scripted) {
		started := time.Now()
		for range 3 {
			if r := c.Do(t.Context(), spec.MethodPing, nil); !errors.Is(r.Err, ErrEnded) {
				t.Errorf("a request ended with %v", r.Err)
			}
		}
		if err := c.Fence(t.Context()); !errors.Is(err, ErrEnded) {
			t.Errorf("a fence ended with %v", err)
		}
		if waited := time.Since(started); waited > 0 {
			t.Errorf("all of that was waited for, %v", waited)
		}
	})
}
