package contenttypes_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/contenttypes"
)

func TestSuite(t *testing.T) {
	suitetest.Declare(contenttypes.Cases(), spec.StreamableHTTP, spec.SSE)
	ginkgo.RunSpecs(t, "content-types")
}
