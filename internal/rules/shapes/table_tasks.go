package shapes

import (
	"github.com/mcp-conform/mcp-conform/internal/schema"
	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// taskRows returns the rows of tasks. Package tasks judges the course of a task.
func taskRows() []row {
	const (
		call     = spec.MethodToolsCall
		shown    = spec.MethodTasksGet + " " + spec.MethodTasksCancel + " " + spec.MethodTasksList
		notified = spec.MethodTasksStatus
		any      = call + " " + shown
		noDate   = "The server's task has a time that is not ISO 8601."
		made     = "Task.createdAt GetTaskResult.createdAt CancelTaskResult.createdAt"
		since    = "Task.lastUpdatedAt GetTaskResult.lastUpdatedAt CancelTaskResult.lastUpdatedAt"
	)
	return []row{
		{
			in: spec.MethodToolsList, place: "ToolExecution.taskSupport", on: "tasks.tool-support-values",
			summary: "The server's tool has a taskSupport that does not exist.",
		},

		{in: any, place: "Task.taskId GetTaskResult.taskId CancelTaskResult.taskId", on: "tasks.id-string", summary: "The server's task has a taskId that is not a string."},
		{
			in: any, place: "Task.status GetTaskResult.status CancelTaskResult.status", on: "tasks.transitions",
			summary: "The server's task has no status, or one that does not exist.",
		},
		{in: any, place: made, on: "tasks.created-at", summary: "The server's task has no createdAt."},
		{in: any, place: made, kinds: kinds(schema.NotDate), on: "tasks.created-at", summary: noDate},
		{in: notified, place: "TaskStatusNotification.createdAt", kinds: kinds(schema.NotDate), on: "tasks.created-at", summary: noDate},
		{in: any, place: since, on: "tasks.last-updated-at", summary: "The server's task has no lastUpdatedAt."},
		{in: any, place: since, kinds: kinds(schema.NotDate), on: "tasks.last-updated-at", summary: noDate},
		{in: notified, place: "TaskStatusNotification.lastUpdatedAt", kinds: kinds(schema.NotDate), on: "tasks.last-updated-at", summary: noDate},
		{in: spec.MethodTasksGet, place: "GetTaskResult.ttl", on: "tasks.ttl-in-get", summary: "The server's task has no ttl."},

		{in: call, place: "CreateTaskResult Task", on: "tasks.create-result", came: "CreateTaskResult", summary: "The server creates a task with missing or invalid members."},
		{in: notified, on: "tasks.status-notification-complete", summary: "The server's task status notification lacks members of the task."},
	}
}
