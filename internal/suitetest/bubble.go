package suitetest

import (
	"testing"
	"testing/synctest"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// Run runs f as a subtest. Over stdio, where the reference server runs in this
// process, it does so in a bubble of testing/synctest: waiting takes no time, and no
// load makes anything late.
func Run(t *testing.T, name string, over spec.Transport, f func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { bubble(t, over, f) })
}

// runInParallel is like Run, but the subtest runs in parallel with others.
func runInParallel(t *testing.T, name string, over spec.Transport, f func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		bubble(t, over, f)
	})
}

func bubble(t *testing.T, over spec.Transport, f func(*testing.T)) {
	t.Helper()
	if over == spec.StreamableHTTP || over == spec.SSE {
		f(t)
		return
	}
	synctest.Test(t, f)
}
