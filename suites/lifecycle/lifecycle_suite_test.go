package lifecycle_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/lifecycle"
)

func TestSuite(t *testing.T) { suitetest.Run(t, "lifecycle", lifecycle.Cases()) }
