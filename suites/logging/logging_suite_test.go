package logging_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/logging"
)

func TestSuite(t *testing.T) { suitetest.Run(t, "logging", logging.Cases()) }
