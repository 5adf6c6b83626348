package concurrency_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/concurrency"
)

func TestSuite(t *testing.T) {
	suitetest.Declare(concurrency.Cases())
	ginkgo.RunSpecs(t, "concurrency")
}
