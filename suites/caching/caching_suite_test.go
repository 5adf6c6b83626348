package caching_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/caching"
)

func TestSuite(t *testing.T) {
	suitetest.Declare(t, caching.Cases())
	ginkgo.RunSpecs(t, "caching")
}
