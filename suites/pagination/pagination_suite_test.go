package pagination_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/pagination"
)

func TestSuite(t *testing.T) { suitetest.Run(t, "pagination", pagination.Cases()) }
