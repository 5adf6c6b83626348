package lifecycle_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/lifecycle"
)

func TestMain(m *testing.M) { suitetest.Main(m) }

func TestSuite(t *testing.T) {
	ginkgo.RunSpecs(t, "lifecycle", suitetest.Declare(t, lifecycle.Cases()))
}
