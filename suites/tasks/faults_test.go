package tasks_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/suites/tasks"
)

// TestKept checks what the cases find kept. The self-test covers what they find broken.
func TestKept(t *testing.T) {
	for _, m := range []suitetest.Misbehaviour{
		{Name: "all is well: unknown", Case: "tasks.unknown", Kept: []string{"tasks.unknown-id-error"}},
		{Name: "all is well: slow", Case: "tasks.slow", Kept: []string{"tasks.result-after-cancel"}},
		{
			Name: "a cancelled task that is gone", Case: "tasks.slow", Seams: fault(t, "legal/tasks-deleted"),
			Kept: []string{"tasks.result-after-cancel"},
		},
	} {
		m.Try(t, tasks.Cases())
	}
}

func fault(t *testing.T, id string) func() refserver.Seams {
	t.Helper()
	f, ok := faults.Lookup(id)
	if !ok {
		t.Fatalf("there is no fault %s", id)
	}
	return f.Seams
}
