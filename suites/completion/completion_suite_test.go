package completion_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/completion"
)

func TestSuite(t *testing.T) {
	ginkgo.RunSpecs(t, "completion", suitetest.Declare(t, completion.Cases()))
}
