package errors_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/errors"
)

func TestSuite(t *testing.T) { suitetest.Run(t, "errors", errors.Cases()) }
