// Package skip skips tests that take long, so that go test ./... stays short, and those that need
// servers, clients or suites that are not installed with the project.
package skip

import (
	"os"
	"testing"
)

// Required is the environment variable that has such tests run. If it is "required" or "all", a
// test whose programs are missing fails, and tests that take minutes run. Those that are left to
// .ci/nightly need "all".
const Required = "MCP_CONFORM_REAL_SERVERS"

// SlowTests is the environment variable that makes slow tests run: most of them if it is "run", and
// the slowest too if it is "all".
const SlowTests = "MCP_CONFORM_SLOW_TESTS"

// Slow skips the test, which takes long, unless slow tests are to run, as in .ci/run.
func Slow(t testing.TB) {
	t.Helper()
	if value := os.Getenv(SlowTests); value != "run" && value != "all" {
		t.Skipf("takes long: it runs where %s=run, as in .ci/run", SlowTests)
	}
}

// Slowest skips the test, which takes very long, unless all slow tests are to run, as in .ci/nightly.
func Slowest(t testing.TB) {
	t.Helper()
	if os.Getenv(SlowTests) != "all" {
		t.Skipf("takes very long: it runs where %s=all, as in .ci/nightly", SlowTests)
	}
}

func isRequired() bool {
	return os.Getenv(Required) == "required" || IsNightly()
}

// UnlessRequired skips the test of what, which takes minutes, unless it is required, even if
// everything it needs is installed: go test ./... must not take longer for those who have installed
// it.
func UnlessRequired(t testing.TB, what string) {
	t.Helper()
	if !isRequired() {
		t.Skipf("%s skipped, it takes minutes: it runs where %s=required", what, Required)
	}
}

// IsNightly reports whether all such tests are to run.
func IsNightly() bool { return os.Getenv(Required) == "all" }

// UnlessNightly skips the test of what unless all such tests are to run.
func UnlessNightly(t testing.TB, what string) {
	t.Helper()
	if !IsNightly() {
		t.Skipf("%s skipped, it takes minutes and resembles others: it runs where %s=all, as in .ci/nightly", what, Required)
	}
}

// Missing skips the test because the program what is not installed, or fails it if
// it is required. why is the reason, for the log.
func Missing(t testing.TB, what, why string) {
	t.Helper()
	if isRequired() {
		t.Fatalf("%s: %s", what, why)
	} else {
		t.Skipf("%s skipped, npm or network missing: %s", what, why)
	}
}
