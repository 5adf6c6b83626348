package tasks_test

import (
	"testing"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suitetest"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
	"github.com/mcp-conform/mcp-conform/reference-server/faults"
	"github.com/mcp-conform/mcp-conform/suites/tasks"
)

// TestFaults tests what the cases judge themselves. The self-test covers the rules.
func TestFaults(t *testing.T) {
	for _, m := range []suitetest.Misbehaviour{
		{Name: "all is well: unknown", Case: "tasks.unknown", Kept: []string{"tasks.unknown-id-error"}},
		{Name: "all is well: slow", Case: "tasks.slow", Kept: []string{"tasks.result-after-cancel"}},
		{
			Name: "a task that was made up", Case: "tasks.unknown", Seams: fault(t, "tasks.unknown-id-error/made-up"),
			Want: []string{"tasks.unknown-id-error: The server answers an invented taskId with a result. (broken)"},
		},
		{
			Name: "no end of waiting", Case: "tasks.unknown", Seams: fault(t, "tasks.unknown-id-error/waits"),
			Want: []string{"tasks.unknown-id-error: tasks/result is not answered for a task id that was made up. (broken)"},
		},
		{
			Name: "a cancelled task that is waited for", Case: "tasks.slow", Seams: fault(t, "tasks.result-after-cancel/silent"),
			Want: []string{"tasks.result-after-cancel: The server does not answer tasks/result of a cancelled task. (broken)"},
		},
		{
			Name: "no answer for its metadata", Case: "tasks.lives", Seams: fault(t, "tasks.related-task-in-request-ignored/silent"),
			Want: []string{"tasks.related-task-in-request-ignored: The server does not answer a request whose _meta names another task. (broken)"},
		},
		{
			Name: "a cancelled task that is gone", Case: "tasks.slow", Seams: fault(t, "legal/tasks-deleted"),
			Kept: []string{"tasks.result-after-cancel"},
		},
	} {
		m.Try(t, tasks.Cases())
	}
}

// Rules report what the cases provoke on faulty servers, and nothing on a conforming one.
func TestProvoked(t *testing.T) {
	const lives, undeclared, client = "tasks.lives", "tasks.undeclared", "tasks.client"
	for _, f := range []struct {
		name, judge string
		fault       string // "" for a conforming server
		want        []string
	}{
		{"all is well: lives", lives, "", nil},
		{"all is well: client", client, "", nil},
		{"all is well: no tasks", undeclared, "legal/tasks-undeclared", nil},
		{"tasks without being declared", undeclared, "tasks.capability-declared/undeclared", []string{
			"tasks.capability-declared: The server sends a task status without declaring tasks. (broken)",
			"tasks.capability-declared: The server answers a call with a task without declaring tasks. (broken)",
			"tasks.undeclared-ignored: The server refuses a call with a task member, though it declares no tasks. (broken)", // of a tool that forbids tasks
		}},
		{"calls refused for the member", undeclared, "tasks.undeclared-ignored/refused", []string{
			"tasks.undeclared-ignored: The server refuses a call with a task member, though it declares no tasks. (broken)",
		}},
		{"a task that asks, and is said to work", lives, "tasks.input-required-status/working", []string{
			"tasks.input-required-status: The server's task waits for input, but has status working. (warning)",
		}},
		{"tasks that fail are completed", lives, "tasks.failed-status/completed", []string{
			"tasks.failed-status: The server's task is completed, though its call failed. (warning)",
		}},
	} {
		seams := func() refserver.Seams { return refserver.Seams{} }
		if f.fault != "" {
			seams = fault(t, f.fault)
		}
		suitetest.TryRuled(t, tasks.Cases(), f.name, f.judge, spec.V20251125, seams, f.want)
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
