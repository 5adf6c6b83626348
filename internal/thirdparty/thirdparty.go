// Package thirdparty skips tests that need servers, clients or suites that are
// not installed with the project.
package thirdparty

import (
	"os"
	"testing"
)

// Required is the environment variable that, set to "required", makes such
// tests fail instead.
const Required = "MCP_CONFORM_REAL_SERVERS"

// TakesMinutes skips the test of what unless Required is set to "required", even if everything it
// needs is installed: go test ./... must not take longer for those who have installed it.
func TakesMinutes(t testing.TB, what string) {
	t.Helper()
	if os.Getenv(Required) != "required" {
		t.Skipf("%s skipped, it takes minutes: it runs where %s=required", what, Required)
	}
}

// Missing skips the test because the program what is not installed, or fails it if
// Required is set to "required". why is the reason, for the log.
func Missing(t testing.TB, what, why string) {
	t.Helper()
	if os.Getenv(Required) == "required" {
		t.Fatalf("%s: %s", what, why)
	} else {
		t.Skipf("%s skipped, npm or network missing: %s", what, why)
	}
}
