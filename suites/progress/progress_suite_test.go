package progress_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/progress"
)

func TestSuite(t *testing.T) { suitetest.Run(t, "progress", progress.Cases()) }
