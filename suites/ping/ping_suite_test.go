package ping_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/ping"
)

func TestSuite(t *testing.T) { suitetest.Run(t, "ping", ping.Cases()) }
