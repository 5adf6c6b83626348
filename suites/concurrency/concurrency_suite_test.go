package concurrency_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/concurrency"
)

func TestSuite(t *testing.T) { suitetest.Run(t, "concurrency", concurrency.Cases()) }
