package errors_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/errors"
)

func TestSuite(t *testing.T) {
	suitetest.Declare(errors.Cases())
	ginkgo.RunSpecs(t, "errors")
}
