package completion_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/completion"
)

func TestSuite(t *testing.T) { suitetest.Run(t, "completion", completion.Cases()) }
