package stdio_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/stdio"
)

func TestSuite(t *testing.T) { suitetest.Run(t, "stdio", stdio.Cases()) }
