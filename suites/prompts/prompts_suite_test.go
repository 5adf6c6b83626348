package prompts_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/prompts"
)

func TestSuite(t *testing.T) {
	ginkgo.RunSpecs(t, "prompts", suitetest.Declare(t, prompts.Cases()))
}
