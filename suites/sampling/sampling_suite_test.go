package sampling_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/sampling"
)

func TestSuite(t *testing.T) { suitetest.Run(t, "sampling", sampling.Cases()) }
