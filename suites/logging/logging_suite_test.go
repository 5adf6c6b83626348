package logging_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/logging"
)

func TestSuite(t *testing.T) {
	ginkgo.RunSpecs(t, "logging", suitetest.Declare(t, logging.Cases()))
}
