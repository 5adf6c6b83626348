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

func taskDeclarationFaults() []Fault {
	ignoresAll := Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if wantsTask(c) {
			return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "Invalid params: unknown member task"}
		}
		return next(c)
	})
	aTask := map[string]any{
		"taskId": "52c5f4d4a8e94f5b", "status": "working", "ttl": nil, "createdAt": "2025-11-25T10:30:00Z", "lastUpdatedAt": "2025-11-25T10:30:00Z",
	}
	return []Fault{
		breaks("tasks.capability-declared/undeclared", "tools run as tasks, which are not declared", taskCapability(func(r map[string]any) { delete(r, "tasks") })),
		breaks("tasks.capability-declared/status", "the status of a task is told, and tasks are not declared", together(
			taskCapability(func(r map[string]any) { delete(r, "tasks") }), ignoringTasks(),
			onceReady(func(s *refserver.Session) { s.Notify(spec.MethodTasksStatus, aTask) }),
		)),
		breaks("tasks.capability-shape/true", "the capability to list tasks is true", taskCapability(func(r map[string]any) {
			r["tasks"].(map[string]any)["list"] = true
		})),
		breaks("tasks.capability-shape/list", "the requests that can be tasks are listed", taskCapability(func(r map[string]any) {
			r["tasks"].(map[string]any)["requests"] = []string{"tools/call"}
		})),
		breaks("tasks.undeclared-ignored/refused", "calls as tasks are refused, as tasks are not declared", together(
			taskCapability(func(r map[string]any) { delete(r, "tasks") }), ignoresAll)),
		breaks("tasks.requests-exhaustive/lists", "tools/list is answered with a task", Handle(spec.MethodToolsList, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if wantsTask(c) {
				return map[string]any{"tools": []any{}, "task": aTask}, nil
			}
			return next(c)
		})),
		breaks("tasks.list-capability/served", "tasks are listed, which is not declared", taskCapability(func(r map[string]any) { delete(r["tasks"].(map[string]any), "list") })),
		breaks("tasks.list-capability/missing", "tasks are not listed, which is declared", unknownMethod(spec.MethodTasksList)),
		breaks("tasks.cancel-capability/served", "tasks are cancelled, which is not declared", taskCapability(func(r map[string]any) { delete(r["tasks"].(map[string]any), "cancel") })),
		breaks("tasks.cancel-capability/missing", "tasks are not cancelled, which is declared", unknownMethod(spec.MethodTasksCancel)),
	}
}

func taskToolFaults() []Fault {
	onlyAs := func(c *refserver.Call) bool { return !wantsTask(c) && tool(c) == "slow" }
	return []Fault{
		breaks("tasks.tool-support-values/maybe", "a tool says maybe of tasks", EditResult(spec.MethodToolsList, func(r map[string]any) {
			for _, t := range items(r, "tools") {
				if t["name"] == "slow" {
					t["execution"] = map[string]any{"taskSupport": "maybe"}
				}
			}
		})),
		breaks("tasks.tool-forbidden-error/runs", "tools that forbid tasks ignore that they are called as such", Handle(spec.MethodToolsCall,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if tool(c) == "add" || tool(c) == "distance" {
					dropTask(c)
				}
				return next(c)
			})),
		breaks("tasks.tool-forbidden-error/code", "that a tool forbids tasks is told by another code", refuse(spec.MethodToolsCall, func(c *refserver.Call) bool {
			return wantsTask(c) && tool(c) == "add"
		}, spec.CodeInvalidParams, "Invalid params: the tool can't be called as a task")),
		breaks("tasks.tool-required-error/runs", "a tool that requires tasks runs without", Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if tool(c) == "background" && !wantsTask(c) {
				return map[string]any{"content": []any{map[string]any{"type": "text", "text": "Done."}}}, nil
			}
			return next(c)
		})),
		breaks("tasks.tool-required-error/result", "that a tool requires tasks is told in its result", Handle(spec.MethodToolsCall,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if tool(c) == "background" && !wantsTask(c) {
					return map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": "Call me as a task."}}}, nil
				}
				return next(c)
			})),
		breaks("tasks.tool-optional/only-as-task", "a tool whose tasks are optional can't be called without", refuse(spec.MethodToolsCall, onlyAs, spec.CodeInvalidRequest, "Task augmentation required")),
	}
}

func taskCreationFaults() []Fault {
	return []Fault{
		breaks("tasks.create-result/result", "calls as tasks are answered with their results", ignoringTasks()),
		breaks("tasks.create-result/no-ttl", "a task is created without a ttl", editTask(func(t map[string]any) { delete(t, "ttl") })),
		breaks("tasks.id-string/number", "the ids of tasks are numbers", editTask(func(t map[string]any) { t["taskId"] = 7 })),
		breaks("tasks.id-receiver-generated/proposed", "the id that the client proposes is taken", Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			id, proposed := wire.Text(wire.At(c.Params, "/task/taskId"))
			result, err := next(c)
			if err != nil || !proposed {
				return result, err
			}
			r := plain(result)
			r["task"].(map[string]any)["taskId"] = id
			return r, nil
		})),
		breaks("tasks.id-unique/one", "all tasks have one id", editTask(func(t map[string]any) { t["taskId"] = "52c5f4d4a8e94f5b" })),
		breaksAfresh("tasks.id-entropy/counted", "the ids of tasks are counted", func() refserver.Seams {
			n := newMemory()
			return editTask(func(t map[string]any) { t["taskId"] = "task-" + string(wire.JSON(n.count("all"))) })
		}),
		breaks("tasks.starts-working/completed", "a task begins completed", editTask(func(t map[string]any) { t["status"] = "completed" })),
	}
}

func taskShownFaults() []Fault {
	get := func(edit func(r map[string]any)) refserver.Seams { return EditResult(spec.MethodTasksGet, edit) }
	status := func(edit func(p Members)) refserver.Seams {
		return EditMessage(func(o *refserver.Out) bool { return o.Method == spec.MethodTasksStatus }, func(m Members) {
			_, p := wire.Members(m["params"])
			edit(p)
			m["params"] = wire.JSON(p)
		})
	}
	return []Fault{
		breaks("tasks.created-at/missing", "tasks/get does not tell when the task was created", get(func(r map[string]any) { delete(r, "createdAt") })),
		breaks("tasks.created-at/words", "tasks/get tells in words when the task was created", get(func(r map[string]any) { r["createdAt"] = "just now" })),
		breaks("tasks.created-at/no-offset", "tasks/get tells without an offset when the task was created", get(func(r map[string]any) { r["createdAt"] = "2025-11-25T10:30:00.123456" })),
		breaks("tasks.created-at/changes", "tasks/get tells another time of creation", get(func(r map[string]any) { r["createdAt"] = "2025-11-25T10:30:00Z" })),
		breaks("tasks.last-updated-at/missing", "tasks/get does not tell when the task was last updated", get(func(r map[string]any) { delete(r, "lastUpdatedAt") })),
		breaks("tasks.last-updated-at/number", "tasks/get tells the last update in milliseconds", get(func(r map[string]any) { r["lastUpdatedAt"] = 1764066600000 })),
		breaks("tasks.last-updated-at/before-creation", "tasks/get tells of an update before the creation", get(func(r map[string]any) { r["lastUpdatedAt"] = "2025-11-25T10:30:00Z" })),
		breaks("tasks.ttl-in-get/missing", "tasks/get does not tell the ttl", get(func(r map[string]any) { delete(r, "ttl") })),
		breaks("tasks.ttl-in-get/text", "tasks/get tells the ttl as a text", get(func(r map[string]any) { r["ttl"] = "1m" })),
		breaks("tasks.failed-status-message/none", "why a task has failed is not told", get(func(r map[string]any) { delete(r, "statusMessage") })),
		breaks("tasks.related-task-not-in-get-list-cancel/there", "tasks/get names the task in its metadata, too", get(func(r map[string]any) {
			r["_meta"] = map[string]any{relatedTask: map[string]any{"taskId": r["taskId"]}}
		})),
		breaks("tasks.related-task-in-request-ignored/decides", "the metadata of tasks/get decide which task is meant", Handle(spec.MethodTasksGet,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if id := wire.At(c.Params, "/_meta/io.modelcontextprotocol~1related-task/taskId"); id != nil {
					c.Params = wire.JSON(Members{"taskId": id})
				}
				return next(c)
			})),
		breaks("tasks.related-task-in-request-ignored/silent", "tasks/get with metadata is not answered", unanswered(spec.MethodTasksGet, func(c *refserver.Call) bool {
			return wire.At(c.Params, "/_meta/io.modelcontextprotocol~1related-task") != nil
		})),
		breaks("tasks.status-notification-complete/status", "status notifications tell the status alone", status(func(p Members) {
			for name := range p {
				if name != "taskId" && name != "status" {
					delete(p, name)
				}
			}
		})),
		breaks("tasks.status-notification-complete/foreign", "the status of a task is told that the client knows nothing of", status(func(p Members) { p["taskId"] = jsontext.Value(`"52c5f4d4a8e94f5b"`) })),
		breaks("tasks.status-notification-no-related-task/there", "status notifications name the task in their metadata, too", status(func(p Members) {
			p["_meta"] = wire.JSON(Members{relatedTask: wire.JSON(Members{"taskId": p["taskId"]})})
		})),
		breaks("tasks.list-next-cursor/none", "the list of tasks ends with its first page", EditResult(spec.MethodTasksList, func(r map[string]any) { delete(r, "nextCursor") })),
		breaks("tasks.list-includes-gettable/failed", "tasks that have failed are not listed", EditResult(spec.MethodTasksList, func(r map[string]any) {
			r["tasks"] = slices.DeleteFunc(r["tasks"].([]any), func(t any) bool { return t.(map[string]any)["status"] == "failed" })
		})),
		breaks("tasks.list-invalid-cursor/ignored", "a cursor that is none begins the list of tasks anew", Handle(spec.MethodTasksList,
			func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := next(c)
				if err != nil {
					c.Params = nil
					return next(c)
				}
				return result, nil
			})),
		breaks("tasks.list-invalid-cursor/code", "a cursor that is none is an internal error", recode(replies(spec.CodeInvalidParams).of(spec.MethodTasksList), "-32603")),
		breaks("tasks.unknown-id-error/code", "an unknown task is an internal error", recode(replies(spec.CodeInvalidParams).of(spec.MethodTasksGet), "-32603")),
		breaks("tasks.unknown-id-error/made-up", "a task that does not exist is at work", Handle(spec.MethodTasksGet, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil {
				return map[string]any{
					"taskId": wire.At(c.Params, "/taskId"), "status": "working", "ttl": nil, "createdAt": "2025-11-25T10:30:00Z", "lastUpdatedAt": "2025-11-25T10:30:00Z",
				}, nil
			}
			return result, nil
		})),
		breaks("tasks.unknown-id-error/waits", "the result of a task that does not exist is waited for", Handle(spec.MethodTasksResult, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil && err.Code == spec.CodeInvalidParams {
				return nil, refserver.NoResponse
			}
			return result, err
		})),
		breaks("tasks.error-messages/empty", "errors about tasks have an empty message", editError(replies().of(spec.MethodTasksGet), func(e Members) { e["message"] = jsontext.Value(`""`) })),
	}
}

func taskClientFaults() []Fault {
	params := map[string]any{
		"message": "How are you?", "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{"mood": map[string]any{"type": "string"}}},
		"task": map[string]any{},
	}
	return []Fault{
		breaks("tasks.server-no-tasks-without-capability/elicits", "the client is to answer an elicitation by a task", asksWhenReady(spec.MethodElicit, params)),
		breaks("tasks.server-respects-client-capability/elicits", "a client with tasks is to answer an elicitation by one, which it has not declared", onceReady(func(s *refserver.Session) {
			if s.Declared("tasks") {
				s.Go(func(ctx context.Context) { _, _ = s.SendRequest(ctx, wire.ID{}, spec.MethodElicit, params) })
			}
		})),
		breaks("tasks.requestor-no-related-task/there", "a task of the client is named in the metadata, too", asksWhenReady(spec.MethodTasksGet, map[string]any{
			"taskId": "mine", "_meta": map[string]any{relatedTask: map[string]any{"taskId": "mine"}},
		})),
		breaks("tasks.requestor-cursor-opaque/made-up", "the client's tasks are listed from a cursor on that it has not given out", asksWhenReady(spec.MethodTasksList, map[string]any{"cursor": "page-2"})),
	}
}

// of narrows it to the answers to a method.
func (w When) of(method string) When {
	return func(o *refserver.Out) bool { return o.Method == method && w(o) }
}

func wantsTask(c *refserver.Call) bool { return wire.At(c.Params, "/task") != nil }

func tool(c *refserver.Call) string {
	name, _ := wire.Text(wire.At(c.Params, "/name"))
	return name
}

// dropTask takes the task member out of a request.
func dropTask(c *refserver.Call) {
	if _, p := wire.Members(c.Params); wantsTask(c) {
		delete(p, "task")
		c.Params = wire.JSON(p)
	}
}

// ignoringTasks has tools that can run without a task do so.
func ignoringTasks() refserver.Seams {
	return Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if tool(c) != "background" {
			dropTask(c)
		}
		return next(c)
	})
}

// taskCapability edits the capabilities.
func taskCapability(edit func(r map[string]any)) refserver.Seams {
	return EditResult(spec.MethodInitialize, func(r map[string]any) { edit(r["capabilities"].(map[string]any)) })
}

func unknownMethod(method string) refserver.Seams {
	return refuse(method, always, spec.CodeMethodNotFound, "Method not found")
}

// editTask edits the tasks that calls are answered with.
func editTask(edit func(t map[string]any)) refserver.Seams {
	return EditResult(spec.MethodToolsCall, func(r map[string]any) {
		if t, ok := r["task"].(map[string]any); ok {
			edit(t)
		}
	})
}
