package tasks_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/tasks"
)

func TestSuite(t *testing.T) { suitetest.Run(t, "tasks", tasks.Cases()) }
