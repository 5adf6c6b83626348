package stateless_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/stateless"
)

func TestMain(m *testing.M) { suitetest.Main(m) }

func TestSuite(t *testing.T) {
	ginkgo.RunSpecs(t, "stateless", suitetest.Declare(t, stateless.Cases()))
}
