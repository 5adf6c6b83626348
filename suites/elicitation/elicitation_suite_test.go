package elicitation_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/elicitation"
)

func TestSuite(t *testing.T) { suitetest.Run(t, "elicitation", elicitation.Cases()) }
