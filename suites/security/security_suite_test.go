package security_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/security"
)

func TestMain(m *testing.M) { suitetest.Main(m) }

func TestSuite(t *testing.T) {
	ginkgo.RunSpecs(t, "security", suitetest.Declare(t, security.Cases(), spec.StreamableHTTP))
}
