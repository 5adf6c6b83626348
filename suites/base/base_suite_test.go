package base_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/base"
)

func TestMain(m *testing.M) { suitetest.Main(m) }

func TestSuite(t *testing.T) {
	ginkgo.RunSpecs(t, "base", suitetest.Declare(t, base.Cases()))
}
