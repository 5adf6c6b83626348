package subscriptions_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/subscriptions"
)

func TestSuite(t *testing.T) {
	ginkgo.RunSpecs(t, "subscriptions", suitetest.Declare(t, subscriptions.Cases()))
}
