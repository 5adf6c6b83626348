package tasks_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/tasks"
)

func TestSuite(t *testing.T) {
	suitetest.Declare(t, tasks.Cases())
	ginkgo.RunSpecs(t, "tasks")
}
