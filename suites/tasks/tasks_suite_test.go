package tasks_test

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	"github.com/mcp-conform/mcp-conform/suites/tasks"
)

func TestSuite(t *testing.T) {
	ginkgo.RunSpecs(t, "tasks", suitetest.Declare(t, tasks.Cases()))
}
