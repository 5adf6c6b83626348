package progress_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/progress"
)

func TestSuite(t *testing.T) {
	ginkgo.RunSpecs(t, "progress", suitetest.Declare(t, progress.Cases()))
}
