package shapes

import (
	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// taskRows are those of tasks. What a task went through is judged by package
// tasks.
func taskRows() []row {
	const (
		call   = spec.MethodToolsCall
		shown  = spec.MethodTasksGet + " " + spec.MethodTasksCancel + " " + spec.MethodTasksList
		told   = spec.MethodTasksStatus
		any    = call + " " + shown
		noDate = "A time of a task is no ISO 8601 time."
		made   = "Task.createdAt GetTaskResult.createdAt CancelTaskResult.createdAt"
		since  = "Task.lastUpdatedAt GetTaskResult.lastUpdatedAt CancelTaskResult.lastUpdatedAt"
	)
	return []row{
		{
			in: spec.MethodToolsList, place: "ToolExecution.taskSupport", on: "tasks.tool-support-values",
			summary: "A tool's taskSupport is neither required, optional nor forbidden.",
		},

		{in: any, place: "Task.taskId GetTaskResult.taskId CancelTaskResult.taskId", on: "tasks.id-string", summary: "The id of a task is no string."},
		{
			in: any, place: "Task.status GetTaskResult.status CancelTaskResult.status", on: "tasks.transitions",
			summary: "A task has a status that does not exist, or none.",
		},
		{in: any, place: made, on: "tasks.created-at", summary: "A task does not tell when it was created."},
		{in: any, place: made, kinds: kinds(schema.NotDate), on: "tasks.created-at", summary: noDate},
		{in: told, place: "TaskStatusNotification.createdAt", kinds: kinds(schema.NotDate), on: "tasks.created-at", summary: noDate},
		{in: any, place: since, on: "tasks.last-updated-at", summary: "A task does not tell when it was last updated."},
		{in: any, place: since, kinds: kinds(schema.NotDate), on: "tasks.last-updated-at", summary: noDate},
		{in: told, place: "TaskStatusNotification.lastUpdatedAt", kinds: kinds(schema.NotDate), on: "tasks.last-updated-at", summary: noDate},
		{in: spec.MethodTasksGet, place: "GetTaskResult.ttl", on: "tasks.ttl-in-get", summary: "A task does not tell its ttl."},

		{in: call, place: "CreateTaskResult Task", on: "tasks.create-result", came: "CreateTaskResult", summary: "The task that a call is answered with is not whole."},
		{in: told, on: "tasks.status-notification-complete", summary: "A status notification does not tell the whole task."},
	}
}
