package cancellation_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/cancellation"
)

func TestSuite(t *testing.T) { suitetest.Run(t, "cancellation", cancellation.Cases()) }
