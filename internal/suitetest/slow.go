package suitetest

import (
	"os"
	"testing"
)

// slowTests is the environment variable that, set to "run", makes slow tests run.
const slowTests = "MCP_CONFORM_SLOW_TESTS"

// SkipSlow skips the test, which takes long, unless slow tests are to run, as in .ci/run: go test ./...
// must stay short.
func SkipSlow(t testing.TB) {
	t.Helper()
	if os.Getenv(slowTests) != "run" {
		t.Skipf("takes long: it runs where %s=run, as in .ci/run", slowTests)
	}
}
