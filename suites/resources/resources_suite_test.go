package resources_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/resources"
)

func TestSuite(t *testing.T) { suitetest.Run(t, "resources", resources.Cases()) }
