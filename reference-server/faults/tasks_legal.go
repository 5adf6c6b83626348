package faults

import (
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// legalTasks are the variations of tasks.
func legalTasks() []Fault {
	shown := func(edit func(t map[string]any)) refserver.Seams {
		return together(editTask(edit), EditResult(spec.MethodTasksGet, edit), EditResult(spec.MethodTasksCancel, edit), EditResult(spec.MethodTasksList, func(r map[string]any) {
			for _, t := range items(r, "tasks") {
				edit(t)
			}
		}))
	}
	quiet := mute(func(o *refserver.Out) bool { return o.Method == spec.MethodTasksStatus })
	onlyCalls := taskCapability(func(r map[string]any) {
		r["tasks"] = map[string]any{"requests": map[string]any{"tools": map[string]any{"call": map[string]any{}}}}
	})
	all := []Fault{
		legal("tasks-undeclared", "tasks are not declared, asking for one is ignored, and their methods are unknown", together(
			taskCapability(func(r map[string]any) { delete(r, "tasks") }), ignoringTasks(),
			unknownMethod(spec.MethodTasksGet), unknownMethod(spec.MethodTasksResult), unknownMethod(spec.MethodTasksList), unknownMethod(spec.MethodTasksCancel),
		)),
		legal("tasks-without-operations", "tasks can be neither listed nor cancelled", together(onlyCalls, unknownMethod(spec.MethodTasksList), unknownMethod(spec.MethodTasksCancel))),
		legal("tasks-unlimited", "tasks have no ttl, no interval and no message", together(quiet, shown(func(t map[string]any) {
			t["ttl"] = nil
			delete(t, "pollInterval")
			if t["status"] != "failed" {
				delete(t, "statusMessage")
			}
		}))),
		legal("tasks-silent", "the status of tasks is told only when asked for", quiet),
		legal("tasks-elsewhere", "the times of tasks are those of another place, to the second", together(quiet, shown(func(t map[string]any) {
			for _, name := range []string{"createdAt", "lastUpdatedAt"} {
				text := t[name].(string)
				t[name] = text[:len("2006-01-02T15:04:05")] + "+00:00"
			}
		}))),
		legal("tasks-with-response", "tasks come with a response for the model, and metadata of their own", EditResult(spec.MethodToolsCall, func(r map[string]any) {
			if t, ok := r["task"].(map[string]any); ok {
				r["_meta"] = map[string]any{"io.modelcontextprotocol/model-immediate-response": "It is being worked on.", relatedTask: map[string]any{"taskId": t["taskId"]}}
				t["com.example/queue"] = 3
			}
		})),
		legal("task-results-marked", "results of tasks say that they are none of failure, and have other metadata", EditResult(spec.MethodTasksResult, func(r map[string]any) {
			if r["isError"] == nil {
				r["isError"] = false
			}
			r["_meta"].(map[string]any)["com.example/took"] = 5
		})),
		legalAfresh("tasks-deleted", "cancelled tasks are gone at once", func() refserver.Seams {
			n := newMemory()
			gone := func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if n.text(id(c)) != "" {
					return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "Invalid params: there is no such task"}
				}
				return next(c)
			}
			return together(Handle(spec.MethodTasksGet, gone), Handle(spec.MethodTasksResult, gone), Handle(spec.MethodTasksCancel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := gone(c, next)
				if err == nil {
					n.keep(id(c), "gone")
				}
				return result, err
			}), EditResult(spec.MethodTasksList, func(r map[string]any) {
				var kept []any
				for _, t := range items(r, "tasks") {
					if n.text(t["taskId"].(string)) == "" {
						kept = append(kept, t)
					}
				}
				r["tasks"] = append([]any{}, kept...)
			}))
		}),
		legal("tasks-demanded", "a call that should have been a task gets the code that the page shows elsewhere", refuse(spec.MethodToolsCall, func(c *refserver.Call) bool {
			return tool(c) == "background" && !wantsTask(c)
		}, spec.CodeInvalidRequest, "Task augmentation required")),
		legal("cancelled-tasks-fail", "the result of a cancelled task is an error", Handle(spec.MethodTasksResult, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if statusOf(c, next) == "cancelled" {
				return nil, &refserver.Error{Code: spec.CodeInternal, Message: "The task was cancelled"}
			}
			return next(c)
		})),
		legal("tasks-in-one-page", "all tasks are listed at once", Handle(spec.MethodTasksList, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil {
				return nil, err
			}
			whole := plain(result)
			for page := whole; page["nextCursor"] != nil; {
				more := *c
				more.Params = wire.JSON(map[string]any{"cursor": page["nextCursor"]})
				if result, err = next(&more); err != nil {
					return nil, err
				}
				page = plain(result)
				whole["tasks"] = append(whole["tasks"].([]any), page["tasks"].([]any)...)
			}
			delete(whole, "nextCursor")
			return whole, nil
		})),
	}
	for i := range all {
		all[i] = all[i].in(spec.V20251125)
	}
	return all
}
