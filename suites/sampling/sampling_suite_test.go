package sampling_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/sampling"
)

func TestSuite(t *testing.T) {
	ginkgo.RunSpecs(t, "sampling", suitetest.Declare(t, sampling.Cases()))
}
