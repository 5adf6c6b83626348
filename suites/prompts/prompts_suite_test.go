package prompts_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/prompts"
)

func TestSuite(t *testing.T) { suitetest.Run(t, "prompts", prompts.Cases()) }
