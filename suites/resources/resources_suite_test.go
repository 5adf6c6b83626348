package resources_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/resources"
)

func TestSuite(t *testing.T) {
	ginkgo.RunSpecs(t, "resources", suitetest.Declare(t, resources.Cases()))
}
