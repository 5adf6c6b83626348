package contenttypes_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/contenttypes"
)

func TestSuite(t *testing.T) {
	suitetest.Run(t, "content-types", contenttypes.Cases(), spec.StreamableHTTP, spec.SSE)
}
