package tasks_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/suites/tasks"
)

// What the cases judge themselves; the rest is judged by rules, which the
// self-test shows.
func TestFaults(t *testing.T) {
	for _, m := range []suitetest.Misbehaviour{
		{Name: "all is well: unknown", Case: "tasks.unknown", Kept: []string{"tasks.unknown-id-error"}},
		{Name: "all is well: slow", Case: "tasks.slow", Kept: []string{"tasks.result-after-cancel"}},
		{Name: "all is well: lives", Case: "tasks.lives"},
		{Name: "all is well: client", Case: "tasks.client"},
		{Name: "no tasks: undeclared", Case: "tasks.undeclared", Seams: fault(t, "legal/tasks-undeclared")},
		{
			Name: "a task that was made up", Case: "tasks.unknown", Seams: fault(t, "tasks.unknown-id-error/made-up"),
			Want: []string{"tasks.unknown-id-error: An id that was made up is answered with a result. (broken)"},
		},
		{
			Name: "no end of waiting", Case: "tasks.unknown", Seams: fault(t, "tasks.unknown-id-error/waits"),
			Want: []string{"tasks.unknown-id-error: The result of a task that does not exist is asked for, and there is no answer. (broken)"},
		},
		{
			Name: "a cancelled task that is waited for", Case: "tasks.slow", Seams: fault(t, "tasks.result-after-cancel/silent"),
			Want: []string{"tasks.result-after-cancel: The result of a cancelled task is asked for, and there is no answer. (broken)"},
		},
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
