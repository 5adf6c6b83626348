package mrtr_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/mrtr"
)

func TestSuite(t *testing.T) {
	ginkgo.RunSpecs(t, "mrtr", suitetest.Declare(t, mrtr.Cases()))
}
