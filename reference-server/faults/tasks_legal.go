package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalTasks returns the legal variations in tasks.
func legalTasks() []*Fault {
	shown := func(edit func(t map[string]any)) *refserver.Seams {
		return combineSeams(editTask(edit), EditResult(spec.MethodTasksGet, edit), EditResult(spec.MethodTasksCancel, edit), EditResult(spec.MethodTasksList, func(r map[string]any) {
			for _, t := range objectsIn(r, "tasks") {
				edit(t)
			}
		}))
	}
	quiet := dropMessages(func(o *refserver.Out) bool { return o.Method == spec.MethodTasksStatus })
	onlyCalls := editCapabilities(func(r map[string]any) {
		r["tasks"] = map[string]any{"requests": map[string]any{"tools": map[string]any{"call": map[string]any{}}}}
	})
	all := []*Fault{
		newVariation("tasks-undeclared", "tasks are not declared, and ignored in calls", combineSeams(
			editCapabilities(func(r map[string]any) { delete(r, "tasks") }), ignoreTasks(),
			refuseAsUnknown(spec.MethodTasksGet), refuseAsUnknown(spec.MethodTasksResult), refuseAsUnknown(spec.MethodTasksList), refuseAsUnknown(spec.MethodTasksCancel),
		)),
		newVariation("tasks-without-operations", "tasks support neither list nor cancel", combineSeams(onlyCalls, refuseAsUnknown(spec.MethodTasksList), refuseAsUnknown(spec.MethodTasksCancel))),
		newVariation("tasks-unlimited", "tasks have a null ttl, no pollInterval and no statusMessage", combineSeams(quiet, shown(func(t map[string]any) {
			t["ttl"] = nil
			delete(t, "pollInterval")
			if t["status"] != "failed" {
				delete(t, "statusMessage")
			}
		}))),
		newVariation("tasks-silent", "the server sends no tasks/status", quiet),
		newVariation("tasks-elsewhere", "times of tasks end in +00:00 instead of Z, without fractions", combineSeams(quiet, shown(func(t map[string]any) {
			for _, name := range []string{"createdAt", "lastUpdatedAt"} {
				text := t[name].(string)
				t[name] = text[:len("2006-01-02T15:04:05")] + "+00:00"
			}
		}))),
		newVariation("tasks-with-response", "task results have a model-immediate-response and other metadata", EditResult(spec.MethodToolsCall, func(r map[string]any) {
			if t, ok := r["task"].(map[string]any); ok {
				r["_meta"] = map[string]any{"io.modelcontextprotocol/model-immediate-response": "It is being worked on.", relatedTask: map[string]any{"taskId": t["taskId"]}}
				t["com.example/queue"] = 3
			}
		})),
		newVariation("task-results-marked", "task results have isError false and other metadata", EditResult(spec.MethodTasksResult, func(r map[string]any) {
			if r["isError"] == nil {
				r["isError"] = false
			}
			r["_meta"].(map[string]any)["com.example/took"] = 5
		})),
		newVariationWithState("tasks-deleted", "cancelled tasks are removed at once", func() *refserver.Seams {
			n := newTextStore()
			gone := func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if n.get(taskID(c)) != "" {
					return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "Invalid params: there is no such task"}
				}
				return next(c)
			}
			return combineSeams(WrapHandler(spec.MethodTasksGet, gone), WrapHandler(spec.MethodTasksResult, gone), WrapHandler(spec.MethodTasksCancel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := gone(c, next)
				if err == nil {
					n.set(taskID(c), "gone")
				}
				return result, err
			}), EditResult(spec.MethodTasksList, func(r map[string]any) {
				var kept []any
				for _, t := range objectsIn(r, "tasks") {
					if n.get(t["taskId"].(string)) == "" {
						kept = append(kept, t)
					}
				}
				r["tasks"] = append([]any{}, kept...)
			}))
		}),
		newVariation("tasks-demanded", "a call without the required task gets -32600", refuseCalls(spec.MethodToolsCall, func(c *refserver.Call) bool {
			return toolName(c) == "background" && !isTaskCall(c)
		}, spec.CodeInvalidRequest, "Task augmentation required")),
		newVariation("cancelled-tasks-fail", "tasks/result of a cancelled task returns an error", WrapHandler(spec.MethodTasksResult, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if statusOf(c, next) == "cancelled" {
				return nil, &refserver.Error{Code: spec.CodeInternal, Message: "The task was cancelled"}
			}
			return next(c)
		})),
		newVariation("tasks-in-one-page", "tasks/list returns all tasks at once", WrapHandler(spec.MethodTasksList, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil {
				return nil, err
			}
			whole := decodeObject(result)
			for page := whole; page["nextCursor"] != nil; {
				more := *c
				more.Params = wire.JSON(map[string]any{"cursor": page["nextCursor"]})
				if result, err = next(&more); err != nil {
					return nil, err
				}
				page = decodeObject(result)
				whole["tasks"] = append(whole["tasks"].([]any), page["tasks"].([]any)...)
			}
			delete(whole, "nextCursor")
			return whole, nil
		})),
	}
	for i := range all {
		all[i] = all[i].inRevisions(spec.V20251125)
	}
	return all
}
