package faults

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

const relatedTask = "io.modelcontextprotocol/related-task"

func taskDeclarationFaults() []*Fault {
	ignoresAll := WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if isTaskCall(c) {
			return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "Invalid params: unknown member task"}
		}
		return next(c)
	})
	aTask := map[string]any{
		"taskId": "52c5f4d4a8e94f5b", "status": "working", "ttl": nil, "createdAt": "2025-11-25T10:30:00Z", "lastUpdatedAt": "2025-11-25T10:30:00Z",
	}
	return []*Fault{
		newFault("tasks.removed/list", "tasks/list is served in 2026-07-28", serveMethod(spec.MethodTasksList, map[string]any{"tasks": []any{}})),
		newFault("tasks.removed/result", "tasks/result is served in 2026-07-28", serveMethod(spec.MethodTasksResult, map[string]any{"content": []any{}})),
		newFault("tasks.capability-declared/undeclared", "tools run as tasks, but tasks are not declared", editCapabilities(func(r map[string]any) { delete(r, "tasks") })),
		newFault("tasks.capability-declared/status", "the server sends tasks/status, but tasks are not declared", combineSeams(
			editCapabilities(func(r map[string]any) { delete(r, "tasks") }), ignoreTasks(),
			onInitialized(func(s *refserver.Session) { s.Notify(spec.MethodTasksStatus, aTask) }),
		)),
		newFault("tasks.capability-shape/true", "the capability to list tasks is true", editCapabilities(func(r map[string]any) {
			r["tasks"].(map[string]any)["list"] = true
		})),
		newFault("tasks.capability-shape/list", "tasks.requests is an array", editCapabilities(func(r map[string]any) {
			r["tasks"].(map[string]any)["requests"] = []string{"tools/call"}
		})),
		newFault("tasks.undeclared-ignored/refused", "calls as tasks are refused because tasks are not declared", combineSeams(
			editCapabilities(func(r map[string]any) { delete(r, "tasks") }), ignoresAll)),
		newFault("tasks.requests-exhaustive/lists", "tools/list returns a task", WrapHandler(spec.MethodToolsList, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if isTaskCall(c) {
				return map[string]any{"tools": []any{}, "task": aTask}, nil
			}
			return next(c)
		})),
		newFault("tasks.list-capability/served", "tasks/list works but is not declared", editCapabilities(func(r map[string]any) { delete(r["tasks"].(map[string]any), "list") })),
		newFault("tasks.list-capability/missing", "tasks/list is declared but refused", refuseAsUnknown(spec.MethodTasksList)),
		newFault("tasks.cancel-capability/served", "tasks/cancel works but is not declared", editCapabilities(func(r map[string]any) { delete(r["tasks"].(map[string]any), "cancel") })),
		newFault("tasks.cancel-capability/missing", "tasks/cancel is declared but refused", refuseAsUnknown(spec.MethodTasksCancel)),
	}
}

func taskToolFaults() []*Fault {
	onlyAs := func(c *refserver.Call) bool { return !isTaskCall(c) && toolName(c) == "slow" }
	return []*Fault{
		newFault("tasks.tool-support-values/maybe", "a tool has the taskSupport maybe", EditResult(spec.MethodToolsList, func(r map[string]any) {
			for _, t := range objectsIn(r, "tools") {
				if t["name"] == "slow" {
					t["execution"] = map[string]any{"taskSupport": "maybe"}
				}
			}
		})),
		newFault("tasks.tool-forbidden-error/runs", "tools that forbid tasks run without one", WrapHandler(spec.MethodToolsCall,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if toolName(c) == "add" || toolName(c) == "distance" {
					dropTask(c)
				}
				return next(c)
			})),
		newFault("tasks.tool-forbidden-error/code", "a task for a tool that forbids tasks gets another error code", refuseCalls(spec.MethodToolsCall, func(c *refserver.Call) bool {
			return isTaskCall(c) && toolName(c) == "add"
		}, spec.CodeInvalidParams, "Invalid params: the tool can't be called as a task")),
		newFault("tasks.tool-required-error/runs", "a tool that requires tasks runs without one", WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if toolName(c) == "background" && !isTaskCall(c) {
				return map[string]any{"content": []any{map[string]any{"type": "text", "text": "Done."}}}, nil
			}
			return next(c)
		})),
		newFault("tasks.tool-required-error/result", "a call without the required task gets an isError result", WrapHandler(spec.MethodToolsCall,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if toolName(c) == "background" && !isTaskCall(c) {
					return map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": "Call me as a task."}}}, nil
				}
				return next(c)
			})),
		newFault("tasks.tool-optional/only-as-task", "a tool with optional tasks refuses calls without one", refuseCalls(spec.MethodToolsCall, onlyAs, spec.CodeInvalidRequest, "Task augmentation required")),
	}
}

func taskCreationFaults() []*Fault {
	return []*Fault{
		newFault("tasks.create-result/result", "calls as tasks return the tool's result", ignoreTasks()),
		newFault("tasks.create-result/no-ttl", "a created task has no ttl", editTask(func(t map[string]any) { delete(t, "ttl") })),
		newFault("tasks.id-string/number", "the ids of tasks are numbers", editTask(func(t map[string]any) { t["taskId"] = 7 })),
		newFault("tasks.id-receiver-generated/proposed", "the server uses the task id that the client proposes", WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			id, proposed := wire.Text(wire.At(c.Params, "/task/taskId"))
			result, err := next(c)
			if err != nil || !proposed {
				return result, err
			}
			r := decodeObject(result)
			r["task"].(map[string]any)["taskId"] = id
			return r, nil
		})),
		newFault("tasks.id-unique/one", "all tasks have the same id", editTask(func(t map[string]any) { t["taskId"] = "52c5f4d4a8e94f5b" })),
		newFaultWithState("tasks.id-entropy/counted", "task ids are consecutive numbers", func() *refserver.Seams {
			n := newTextStore()
			return editTask(func(t map[string]any) { t["taskId"] = "task-" + string(wire.JSON(n.count("all"))) })
		}),
		newFault("tasks.starts-working/completed", "a task begins as completed", editTask(func(t map[string]any) { t["status"] = "completed" })),
	}
}

func taskMemberFaults() []*Fault {
	get := func(edit func(r map[string]any)) *refserver.Seams { return EditResult(spec.MethodTasksGet, edit) }
	status := func(edit func(p Members)) *refserver.Seams {
		return EditMessage(func(o *refserver.Out) bool { return o.Method == spec.MethodTasksStatus }, func(m Members) {
			_, p := wire.Members(m["params"])
			edit(p)
			m["params"] = wire.JSON(p)
		})
	}
	return []*Fault{
		newFault("tasks.created-at/missing", "tasks/get lacks createdAt", get(func(r map[string]any) { delete(r, "createdAt") })),
		newFault("tasks.created-at/words", "createdAt of tasks/get is a sentence", get(func(r map[string]any) { r["createdAt"] = "just now" })),
		newFault("tasks.created-at/no-offset", "createdAt of tasks/get has no time zone", get(func(r map[string]any) { r["createdAt"] = "2025-11-25T10:30:00.123456" })),
		newFault("tasks.created-at/changes", "createdAt of tasks/get changes", get(func(r map[string]any) { r["createdAt"] = "2025-11-25T10:30:00Z" })),
		newFault("tasks.last-updated-at/missing", "tasks/get lacks lastUpdatedAt", get(func(r map[string]any) { delete(r, "lastUpdatedAt") })),
		newFault("tasks.last-updated-at/number", "lastUpdatedAt of tasks/get is a number of milliseconds", get(func(r map[string]any) { r["lastUpdatedAt"] = 1764066600000 })),
		newFault("tasks.last-updated-at/before-creation", "lastUpdatedAt of tasks/get precedes createdAt", get(func(r map[string]any) { r["lastUpdatedAt"] = "2025-11-25T10:30:00Z" })),
		newFault("tasks.ttl-in-get/missing", "tasks/get lacks ttl", get(func(r map[string]any) { delete(r, "ttl") })),
		newFault("tasks.ttl-in-get/text", "the ttl of tasks/get is a string", get(func(r map[string]any) { r["ttl"] = "1m" })),
		newFault("tasks.failed-status-message/none", "a failed task has no statusMessage", get(func(r map[string]any) { delete(r, "statusMessage") })),
		newFault("tasks.related-task-not-in-get-list-cancel/there", "the result of tasks/get has related-task metadata", get(func(r map[string]any) {
			r["_meta"] = map[string]any{relatedTask: map[string]any{"taskId": r["taskId"]}}
		})),
		newFault("tasks.related-task-in-request-ignored/decides", "related-task metadata overrides the taskId of tasks/get", WrapHandler(spec.MethodTasksGet,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if id := wire.At(c.Params, "/_meta/io.modelcontextprotocol~1related-task/taskId"); id != nil {
					c.Params = wire.JSON(Members{"taskId": id})
				}
				return next(c)
			})),
		newFault("tasks.related-task-in-request-ignored/silent", "tasks/get with related-task metadata gets no response", suppressResponse(spec.MethodTasksGet, func(c *refserver.Call) bool {
			return wire.At(c.Params, "/_meta/io.modelcontextprotocol~1related-task") != nil
		})),
		newFault("tasks.status-notification-complete/status", "tasks/status notifications have only the status", status(func(p Members) {
			for name := range p {
				if name != "taskId" && name != "status" {
					delete(p, name)
				}
			}
		})),
		newFault("tasks.status-notification-complete/foreign", "the server sends tasks/status for an unknown task", status(func(p Members) { p["taskId"] = jsontext.Value(`"52c5f4d4a8e94f5b"`) })),
		newFault("tasks.status-notification-no-related-task/there", "tasks/status notifications have related-task metadata", status(func(p Members) {
			p["_meta"] = wire.JSON(Members{relatedTask: wire.JSON(Members{"taskId": p["taskId"]})})
		})),
		newFault("tasks.list-next-cursor/none", "tasks/list returns only the first page", EditResult(spec.MethodTasksList, func(r map[string]any) { delete(r, "nextCursor") })),
		newFault("tasks.list-includes-gettable/failed", "tasks/list omits failed tasks", EditResult(spec.MethodTasksList, func(r map[string]any) {
			r["tasks"] = slices.DeleteFunc(r["tasks"].([]any), func(t any) bool { return t.(map[string]any)["status"] == "failed" })
		})),
		newFault("tasks.list-invalid-cursor/ignored", "an invalid cursor returns the first page of tasks", WrapHandler(spec.MethodTasksList,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := next(c)
				if err != nil {
					c.Params = nil
					return next(c)
				}
				return result, nil
			})),
		newFault("tasks.list-invalid-cursor/code", "an invalid cursor for tasks gets an internal error", setErrorCode(errorsWithID(spec.CodeInvalidParams).toMethod(spec.MethodTasksList), "-32603")),
		newFault("tasks.unknown-id-error/code", "an unknown task gets an internal error", setErrorCode(errorsWithID(spec.CodeInvalidParams).toMethod(spec.MethodTasksGet), "-32603")),
		newFault("tasks.unknown-id-error/made-up", "tasks/get of an unknown task returns the status working", WrapHandler(spec.MethodTasksGet, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil {
				return map[string]any{
					"taskId": wire.At(c.Params, "/taskId"), "status": "working", "ttl": nil, "createdAt": "2025-11-25T10:30:00Z", "lastUpdatedAt": "2025-11-25T10:30:00Z",
				}, nil
			}
			return result, nil
		})),
		newFault("tasks.unknown-id-error/waits", "tasks/result of an unknown task waits for ever", WrapHandler(spec.MethodTasksResult, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil && err.Code == spec.CodeInvalidParams {
				return nil, refserver.NoResponse
			}
			return result, err
		})),
		newFault("tasks.error-messages/empty", "errors about tasks have an empty message", editError(errorsWithID().toMethod(spec.MethodTasksGet), func(e Members) { e["message"] = jsontext.Value(`""`) })),
	}
}

func taskClientFaults() []*Fault {
	params := map[string]any{
		"message": "How are you?", "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{"mood": map[string]any{"type": "string"}}},
		"task": map[string]any{},
	}
	return []*Fault{
		newFault("tasks.server-no-tasks-without-capability/elicits", "the server requests elicitation as a task, which the client did not declare", requestOnInitialized(spec.MethodElicit, params)),
		newFault("tasks.server-respects-client-capability/elicits", "the server requests elicitation as a task from a client that declared only other tasks", onInitialized(func(s *refserver.Session) {
			if s.ClientDeclared("tasks") {
				s.Go(func(ctx context.Context) { _, _ = s.SendRequest(ctx, wire.ID{}, spec.MethodElicit, params) })
			}
		})),
		newFault("tasks.requestor-no-related-task/there", "tasks/get to the client has related-task metadata", requestOnInitialized(spec.MethodTasksGet, map[string]any{
			"taskId": "mine", "_meta": map[string]any{relatedTask: map[string]any{"taskId": "mine"}},
		})),
		newFault("tasks.requestor-cursor-opaque/made-up", "tasks/list to the client has a made-up cursor", requestOnInitialized(spec.MethodTasksList, map[string]any{"cursor": "page-2"})),
	}
}

// toMethod narrows the filter to the responses to requests of a method.
func (w MessageFilter) toMethod(method string) MessageFilter {
	return func(o *refserver.Out) bool { return o.Method == method && w(o) }
}

func isTaskCall(c *refserver.Call) bool { return wire.At(c.Params, "/task") != nil }

func toolName(c *refserver.Call) string {
	name, _ := wire.Text(wire.At(c.Params, "/name"))
	return name
}

// dropTask removes the member task from the params of a request.
func dropTask(c *refserver.Call) {
	if _, p := wire.Members(c.Params); isTaskCall(c) {
		delete(p, "task")
		c.Params = wire.JSON(p)
	}
}

// ignoreTasks ignores the member task in calls of tools that do not require it.
func ignoreTasks() *refserver.Seams {
	return WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if toolName(c) != "background" {
			dropTask(c)
		}
		return next(c)
	})
}

// editCapabilities edits the capabilities in the result of initialize.
func editCapabilities(edit func(r map[string]any)) *refserver.Seams {
	return EditResult(spec.MethodInitialize, func(r map[string]any) { edit(r["capabilities"].(map[string]any)) })
}

func refuseAsUnknown(method string) *refserver.Seams {
	return refuseCalls(method, always, spec.CodeMethodNotFound, "Method not found")
}

// editTask edits the task in results of tools/call.
func editTask(edit func(t map[string]any)) *refserver.Seams {
	return EditResult(spec.MethodToolsCall, func(r map[string]any) {
		if t, ok := r["task"].(map[string]any); ok {
			edit(t)
		}
	})
}
