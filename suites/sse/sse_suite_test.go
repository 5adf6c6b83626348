package sse_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/sse"
)

func TestSuite(t *testing.T) { suitetest.Run(t, "sse", sse.Cases(), spec.SSE) }
