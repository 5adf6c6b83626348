//go:build unix

package cputime_test

import (
	"testing"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/cputime"
)

// TestWorkIsCounted checks that work increases the CPU time. The system may
// take a while to count it.
func TestWorkIsCounted(t *testing.T) {
	before := cputime.Used()
	deadline := time.Now().Add(time.Minute)
	for cputime.Used() == before {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute of work, the CPU time is still %v", before)
		}
	}
}
