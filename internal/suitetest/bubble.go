package suitetest

import (
	"testing"
	"testing/synctest"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// run runs f, which runs one case, as a parallel subtest. Over stdio, where the
// reference server runs in this process, it does so in a bubble of testing/synctest:
// waiting takes no time, and no load makes anything late. A run of several cases must
// not stand in a bubble, because the gate that lets servers run is a lock.
func run(t *testing.T, name string, over spec.Transport, f func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		if over == spec.StreamableHTTP || over == spec.SSE {
			f(t)
			return
		}
		synctest.Test(t, f)
	})
}
