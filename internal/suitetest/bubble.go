package suitetest

import (
	"testing"
	"testing/synctest"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// run runs f, which runs one case, as a parallel subtest. Over stdio, where the
// reference server runs in this process, it does so in a bubble of testing/synctest:
// waiting takes no time, and no load makes anything late.
func run(t *testing.T, name string, over spec.Transport, f func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		bubble(t, over, f)
	})
}

// RunWhole is like run for a run of many cases, which is a subtest that is not parallel.
// With the race detector it takes real time: so much that happens at the same time in one
// bubble makes the detector crash (https://go.dev/issue/78156).
func RunWhole(t *testing.T, name string, over spec.Transport, f func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		if RaceDetector {
			f(t)
			return
		}
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
