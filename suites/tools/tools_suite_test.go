package tools_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/tools"
)

func TestSuite(t *testing.T) { suitetest.Run(t, "tools", tools.Cases()) }
