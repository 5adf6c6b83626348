package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/engine"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// TestInterruptedWhileProbing checks that an interruption during the probe is
// reported as such, and not as a failure of the server.
func TestInterruptedWhileProbing(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	y := &toy{answer: func(_ int64, m *wire.Message) []byte {
		if m.Method != spec.MethodInitialize {
			interrupt()
			return []byte("silence")
		}
		return nil
	}}
	_, err := engine.Run(ctx, engine.Options{Dialer: y.dialer(), Cases: []suite.Case{pinging(true)}})
	none := (*engine.NothingJudgedError)(nil)
	if !errors.As(err, &none) || !strings.HasPrefix(none.Reason, "interrupted while the run probed") {
		t.Errorf("the error is %v", err)
	}
	if n := y.alive.Load(); n != 0 {
		t.Errorf("%d servers are still alive", n)
	}
}
