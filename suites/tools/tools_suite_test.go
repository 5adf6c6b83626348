package tools_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/tools"
)

func TestSuite(t *testing.T) {
	ginkgo.RunSpecs(t, "tools", suitetest.Declare(t, tools.Cases()))
}
