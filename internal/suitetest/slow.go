package suitetest

import (
	"os"
	"testing"
)

// slowTests is the environment variable that, set to "run", has slow tests run.
const slowTests = "MCP_CONFORM_SLOW_TESTS"

// SkipIfSlow skips a test that takes long, so that go test ./... stays short. .ci/run runs such tests.
func SkipIfSlow(t testing.TB) {
	t.Helper()
	if os.Getenv(slowTests) != "run" {
		t.Skipf("takes long: it runs where %s=run, as in .ci/run", slowTests)
	}
}
