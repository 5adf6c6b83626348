package suitetest

import (
	"testing"
	"testing/synctest"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// runSubtest runs f, which runs one case, as a parallel subtest. Over stdio, f runs in a bubble of
// testing/synctest, because client and server then communicate without sockets. In a bubble,
// waiting takes no time, and a busy machine delays nothing.
func runSubtest(t *testing.T, name string, over spec.Transport, f func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		runInBubble(t, over, f)
	})
}

// RunWhole is like runSubtest, but for a run of many cases, and the subtest is not parallel. With
// the race detector it uses no bubble, because so many goroutines in one bubble make the detector
// crash (https://go.dev/issue/78156).
func RunWhole(t *testing.T, name string, over spec.Transport, f func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		if RaceDetector {
			f(t)
			return
		}
		runInBubble(t, over, f)
	})
}

func runInBubble(t *testing.T, over spec.Transport, f func(*testing.T)) {
	t.Helper()
	if over == spec.StreamableHTTP || over == spec.SSE {
		f(t)
		return
	}
	synctest.Test(t, f)
}
