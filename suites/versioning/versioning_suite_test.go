package versioning_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/versioning"
)

func TestSuite(t *testing.T) {
	ginkgo.RunSpecs(t, "versioning", suitetest.Declare(t, versioning.Cases()))
}
