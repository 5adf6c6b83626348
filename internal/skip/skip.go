// Package skip skips tests that take long, so that go test ./... stays short, and those that need
// servers and clients of other projects or the official conformance suite, which are not installed
// with this project.
package skip

import (
	"os"
	"testing"
)

// Required is the environment variable for tests that need programs of other projects, see the
// package comment. If it is "required" or "all", those of them that take minutes run too, and a
// test fails if its programs are missing. Tests that only .ci/nightly runs need "all".
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

// Slowest skips the test, which takes very long, unless all slow tests are to run, as in
// .ci/nightly.
func Slowest(t testing.TB) {
	t.Helper()
	if os.Getenv(SlowTests) != "all" {
		t.Skipf("takes very long: it runs where %s=all, as in .ci/nightly", SlowTests)
	}
}

func isRequired() bool {
	return os.Getenv(Required) == "required" || IsNightly()
}

// UnlessRequired skips a test that takes minutes, unless Required is set. It does so even if
// everything that the test needs is installed, because installing it must not make go test ./...
// slower. The argument what names the tested programs, for the log.
func UnlessRequired(t testing.TB, what string) {
	t.Helper()
	if !isRequired() {
		t.Skipf("%s skipped, it takes minutes: it runs where %s=required", what, Required)
	}
}

// IsNightly reports whether Required is "all".
func IsNightly() bool { return os.Getenv(Required) == "all" }

// UnlessNightly skips a test that only .ci/nightly runs, unless IsNightly is true. The argument
// what names the tested programs, for the log.
func UnlessNightly(t testing.TB, what string) {
	t.Helper()
	if !IsNightly() {
		t.Skipf("%s skipped, it takes minutes and resembles others: it runs where %s=all, as in .ci/nightly", what, Required)
	}
}

// Missing skips the test because a program is not installed, or fails it if Required is set. The
// argument what names the program, and why gives the reason, for the log.
func Missing(t testing.TB, what, why string) {
	t.Helper()
	if isRequired() {
		t.Fatalf("%s: %s", what, why)
	} else {
		t.Skipf("%s skipped, npm or network missing: %s", what, why)
	}
}
