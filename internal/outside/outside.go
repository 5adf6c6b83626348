// Package outside is for tests that need what others made: servers, clients
// and suites that are installed beside the project, not with it.
package outside

import (
	"os"
	"testing"
)

// Required is the variable that, with the value "required", makes a failure of
// what is missing.
const Required = "MCP_CONFORM_REAL_SERVERS"

// Missing skips the test with the reason why what it needs is not there, or
// fails it where that is required.
func Missing(t testing.TB, what, why string) {
	t.Helper()
	if os.Getenv(Required) == "required" {
		t.Fatalf("%s: %s", what, why)
	} else {
		t.Skipf("%s skipped, npm or network missing: %s", what, why)
	}
}
