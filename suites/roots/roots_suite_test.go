package roots_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/roots"
)

func TestSuite(t *testing.T) { suitetest.Run(t, "roots", roots.Cases()) }
