package selftest_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
)

func TestMain(m *testing.M) { suitetest.Main(m) }
