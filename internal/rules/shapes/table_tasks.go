package shapes

import (
	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// taskRows returns the rows of tasks. Package tasks judges how the state of a task changes.
func taskRows() []row {
	const (
		call      = spec.MethodToolsCall
		queries   = spec.MethodTasksGet + " " + spec.MethodTasksCancel + " " + spec.MethodTasksList
		notified  = spec.MethodTasksStatus
		withTask  = call + " " + queries
		noDate    = "The server's task has a time that is not ISO 8601."
		createdAt = "Task.createdAt GetTaskResult.createdAt CancelTaskResult.createdAt"
		updatedAt = "Task.lastUpdatedAt GetTaskResult.lastUpdatedAt CancelTaskResult.lastUpdatedAt"
	)
	return []row{
		{
			in: spec.MethodToolsList, place: "ToolExecution.taskSupport", ids: "tasks.tool-support-values",
			summary: "The server's tool has a taskSupport that does not exist.",
		},

		{in: withTask, place: "Task.taskId GetTaskResult.taskId CancelTaskResult.taskId", ids: "tasks.id-string", summary: "The server's task has no taskId.", ifPresent: "The server's task has a taskId that is not a string."},
		{
			in: withTask, place: "Task.status GetTaskResult.status CancelTaskResult.status", ids: "tasks.transitions",
			summary: "The server's task has no status.", ifPresent: "The server's task has a status that does not exist.",
			fix: `Set status to "working", "input_required", "completed", "failed" or "cancelled".`,
		},
		{in: withTask, place: createdAt, ids: "tasks.created-at", summary: "The server's task has no createdAt.", ifPresent: "The server's task has a createdAt that is not a string."},
		{in: withTask, place: createdAt, kinds: kinds(schema.NotDate), ids: "tasks.created-at", summary: noDate},
		{in: notified, place: "TaskStatusNotification.createdAt", kinds: kinds(schema.NotDate), ids: "tasks.created-at", summary: noDate},
		{in: withTask, place: updatedAt, ids: "tasks.last-updated-at", summary: "The server's task has no lastUpdatedAt.", ifPresent: "The server's task has a lastUpdatedAt that is not a string."},
		{in: withTask, place: updatedAt, kinds: kinds(schema.NotDate), ids: "tasks.last-updated-at", summary: noDate},
		{in: notified, place: "TaskStatusNotification.lastUpdatedAt", kinds: kinds(schema.NotDate), ids: "tasks.last-updated-at", summary: noDate},
		{in: spec.MethodTasksGet, place: "GetTaskResult.ttl", ids: "tasks.ttl-in-get", summary: "The server's task has no ttl.", ifPresent: "The server's task has a ttl that is not a number or null."},

		{in: call, place: "CreateTaskResult Task", ids: "tasks.create-result", observedAt: "CreateTaskResult", subject: "The server's new task"},
		{in: notified, ids: "tasks.status-notification-complete", subject: "The server's task status notification"},
	}
}
