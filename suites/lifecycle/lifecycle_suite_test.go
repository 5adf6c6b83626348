package lifecycle_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/lifecycle"
)

func TestSuite(t *testing.T) {
	suitetest.Declare(lifecycle.Cases())
	ginkgo.RunSpecs(t, "lifecycle")
}
