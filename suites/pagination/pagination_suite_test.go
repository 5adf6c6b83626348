package pagination_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/pagination"
)

func TestSuite(t *testing.T) {
	ginkgo.RunSpecs(t, "pagination", suitetest.Declare(t, pagination.Cases()))
}
