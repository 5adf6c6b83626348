package caching_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/caching"
)

func TestSuite(t *testing.T) {
	ginkgo.RunSpecs(t, "caching", suitetest.Declare(t, caching.Cases()))
}
