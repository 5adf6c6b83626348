package suites_test

import (
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites"
)

// TestServersThatStartLate checks that the cases that begin with something other than an ordinary
// initialize observe as much of a server that starts late as of one that starts at once.
func TestServersThatStartLate(t *testing.T) {
	// Longer than the timeout for a response, which is a second, or than the wait
	// for an early one.
	const late, veryLate = 1200 * time.Millisecond, 2500 * time.Millisecond
	for id, by := range map[string]time.Duration{
		"lifecycle.unknown-capabilities": late, "lifecycle.deficient-initialize": late,
		"lifecycle.unregulated": late, "lifecycle.batched-initialize": late,
		"versioning.unknown-version": late, "errors.invalid-initialize": late,
		"cancellation.initialize": late, "ping.during-handshake": veryLate,
	} {
		suitetest.TryLate(t, suites.Cases(), id, by)
	}
}
