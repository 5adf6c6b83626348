package streamablehttp_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/streamablehttp"
)

func TestSuite(t *testing.T) {
	suitetest.Run(t, "streamable-http", streamablehttp.Cases(), spec.StreamableHTTP)
}
