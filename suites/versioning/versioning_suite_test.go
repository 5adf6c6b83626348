package versioning_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/versioning"
)

func TestSuite(t *testing.T) { suitetest.Run(t, "versioning", versioning.Cases()) }
