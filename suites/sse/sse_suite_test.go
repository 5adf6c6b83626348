package sse_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/sse"
)

func TestMain(m *testing.M) { suitetest.Main(m) }

func TestSuite(t *testing.T) {
	t.Parallel() // with the other tests, which wait as well
	ginkgo.RunSpecs(t, "sse", suitetest.Declare(t, sse.Cases(), spec.SSE))
}
