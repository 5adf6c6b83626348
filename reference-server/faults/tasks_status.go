package faults

import (
	"context"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// namesTask reports whether the params of a message have _meta, in which the server names the task
// that the message belongs to.
func namesTask(o *refserver.Out) bool { return wire.At(o.Frames[0], "/params/_meta") != nil }

// taskProgress matches progress notifications of tasks.
func taskProgress(o *refserver.Out) bool { return o.Method == spec.MethodProgress && namesTask(o) }

// taskStatusFaults returns the faults in the status, the results and the messages of
// tasks.
func taskStatusFaults() []*Fault {
	noMeta := func(m Members) {
		_, p := wire.Members(m["params"])
		delete(p, "_meta")
		m["params"] = wire.JSON(p)
	}
	return []*Fault{
		newFaultWithState("tasks.transitions/works-again", "a task that has ended changes to working", editRepeatedGet(func(r map[string]any) { r["status"] = "working" })),
		newFault("tasks.transitions/other-word", "a task has the status running", EditResult(spec.MethodTasksGet, func(r map[string]any) {
			if r["status"] == "working" {
				r["status"] = "running"
			}
		})),
		newFaultWithState("tasks.terminal-is-final/changes", "a completed task changes to failed", editRepeatedGet(func(r map[string]any) {
			if r["status"] == "completed" {
				r["status"], r["statusMessage"] = "failed", "It has failed after all."
			}
		})),
		newFault("tasks.input-required-status/working", "a task that waits for the client has the status working", EditResult(spec.MethodTasksGet, func(r map[string]any) {
			if r["status"] == "input_required" {
				r["status"] = "working"
			}
		})),
		newFaultWithState("tasks.input-required-left/never", "a task stays in input_required after the client's response", stayInInputRequired),
		newFault("tasks.input-request-related-task/missing", "requests of a task lack related-task metadata", EditMessage(func(o *refserver.Out) bool { return o.Kind == refserver.OutRequest && namesTask(o) }, noMeta)),
		newFault("tasks.related-task-everywhere/progress", "the progress of a task lacks related-task metadata", EditMessage(taskProgress, noMeta)),
		newFault("tasks.related-task-everywhere/id-alone", "log messages of a task have the task's id as related-task", EditMessage(
			func(o *refserver.Out) bool { return o.Method == spec.MethodMessage && namesTask(o) }, func(m Members) {
				_, p := wire.Members(m["params"])
				p["_meta"] = wire.JSON(Members{relatedTask: wire.At(p["_meta"], "/io.modelcontextprotocol~1related-task/taskId")})
				m["params"] = wire.JSON(p)
			})),
		newFault("tasks.related-task-in-result/missing", "tasks/result lacks related-task metadata", EditResult(spec.MethodTasksResult, func(r map[string]any) { delete(r, "_meta") })),
		newFaultWithState("tasks.retained-until-ttl/forgotten", "a task is removed after tasks/result", removeAfterResult),
		newFaultWithState("tasks.create-result-immediate/late", "the response with a task is sent after its work is done", completeLate),
		newFault("tasks.result-blocks/error", "tasks/result of a working task is refused", WrapHandler(spec.MethodTasksResult, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if statusOf(c, next) == "working" {
				return nil, &refserver.Error{Code: spec.CodeInternal, Message: "The task is not over yet"}
			}
			return next(c)
		})),
		newFault("tasks.result-exact/task", "tasks/result returns a result without content", EditResult(spec.MethodTasksResult, func(r map[string]any) { delete(r, "content") })),
		newFault("tasks.result-exact/success", "tasks/result is always a success", EditResult(spec.MethodTasksResult, func(r map[string]any) { delete(r, "isError") })),
		newFault("tasks.result-exact/other", "tasks/result repeats the content within structured content", EditResult(spec.MethodTasksResult, func(r map[string]any) {
			r["structuredContent"] = map[string]any{"content": r["content"]}
		})),
		newFaultWithState("tasks.result-repeatable/once", "tasks/result works only once", func() *refserver.Seams {
			n := newTextStore()
			return WrapHandler(spec.MethodTasksResult, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if n.count(taskID(c)) > 1 {
					return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "Invalid params: the result was fetched already"}
				}
				return next(c)
			})
		}),
		newFault("tasks.result-after-cancel/silent", "tasks/result of a cancelled task gets no response", WrapHandler(spec.MethodTasksResult, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if statusOf(c, next) == "cancelled" {
				return nil, refserver.NoResponse
			}
			return next(c)
		})),
		newFault("tasks.failed-status/completed", "failed tasks have the status completed", withoutStatusNotifications(combineSeams(
			EditResult(spec.MethodTasksGet, setCompletedIfFailed), EditResult(spec.MethodTasksList, func(r map[string]any) {
				for _, t := range objectsIn(r, "tasks") {
					setCompletedIfFailed(t)
				}
			})))),
		newFault("tasks.cancel-terminal-error/accepted", "tasks/cancel of a completed task succeeds", WrapHandler(spec.MethodTasksCancel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if result, err := next(c); err == nil {
				return result, nil
			}
			return getTask(c, next)
		})),
		newFault("tasks.cancel-terminal-error/code", "tasks/cancel of a completed task gets another error code", setErrorCode(errorsWithID(spec.CodeInvalidParams).toMethod(spec.MethodTasksCancel), "-32600")),
		newFault("tasks.cancel-status-before-response/working", "tasks/cancel returns the status working", WrapHandler(spec.MethodTasksCancel, getTask)),
		newFault("tasks.cancel-status-before-response/claims", "tasks/cancel does not cancel the task", WrapHandler(spec.MethodTasksCancel, pretendCancel)),
		newFaultWithState("tasks.cancelled-stays/completed", "a cancelled task changes to completed", completeCancelled),
		newFaultWithState("tasks.cancel-stops-execution/goes-on", "a cancelled task continues to log", func() *refserver.Seams {
			return WrapHandler(spec.MethodTasksCancel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := next(c)
				if err == nil {
					log := map[string]any{"level": "info", "data": "Still at work.", "_meta": relatedTaskMeta(taskID(c))}
					c.Session.Go(func(ctx context.Context) {
						if sleep(ctx, 150*time.Millisecond) {
							c.Session.Notify(spec.MethodMessage, log)
						}
					})
				}
				return result, err
			})
		}),
	}
}

func setCompletedIfFailed(t map[string]any) {
	if t["status"] == "failed" {
		t["status"] = "completed"
	}
}

func relatedTaskMeta(id string) map[string]any {
	return map[string]any{relatedTask: map[string]any{"taskId": id}}
}

// taskID returns the taskId of a request.
func taskID(c *refserver.Call) string {
	text, _ := wire.Text(wire.At(c.Params, "/taskId"))
	return text
}

// getTask handles a request that names a task as if it were tasks/get.
func getTask(c *refserver.Call, next Handler) (any, *refserver.Error) {
	ask := *c
	ask.Method = spec.MethodTasksGet
	return next(&ask)
}

// statusOf returns the status of the task that a request names, or "" if the task does not exist.
func statusOf(c *refserver.Call, next Handler) string {
	result, err := getTask(c, next)
	if err != nil {
		return ""
	}
	status, _ := decodeObject(result)["status"].(string)
	return status
}

// pretendCancel handles tasks/cancel without cancelling the task.
func pretendCancel(c *refserver.Call, next Handler) (any, *refserver.Error) {
	result, err := getTask(c, next)
	if err != nil {
		return nil, err
	}
	r := decodeObject(result)
	r["status"] = "cancelled"
	return r, nil
}

// textStore holds counters and strings by name, for one server.
type textStore struct {
	mu    sync.Mutex
	times map[string]int
	texts map[string]string
}

func newTextStore() *textStore {
	return &textStore{times: map[string]int{}, texts: map[string]string{}}
}

func (m *textStore) count(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.times[name]++
	return m.times[name]
}

func (m *textStore) set(name, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.texts[name] = text
}

func (m *textStore) get(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.texts[name]
}

// editRepeatedGet edits the results of tasks/get for a completed or failed task, except the first
// such result of each task.
func editRepeatedGet(edit func(r map[string]any)) func() *refserver.Seams {
	return func() *refserver.Seams {
		n := newTextStore()
		return withoutStatusNotifications(EditResult(spec.MethodTasksGet, func(r map[string]any) {
			if isEnded(r) && n.count(r["taskId"].(string)) > 1 {
				edit(r)
			}
		}))
	}
}

// withoutStatusNotifications drops status notifications, which would contradict the
// fault.
func withoutStatusNotifications(s *refserver.Seams) *refserver.Seams {
	return combineSeams(s, dropMessages(func(o *refserver.Out) bool { return o.Method == spec.MethodTasksStatus }))
}

func isEnded(r map[string]any) bool { return r["status"] == "completed" || r["status"] == "failed" }

func stayInInputRequired() *refserver.Seams {
	n := newTextStore()
	return withoutStatusNotifications(EditResult(spec.MethodTasksGet, func(r map[string]any) {
		id := r["taskId"].(string)
		if r["status"] == "input_required" {
			n.set(id, "asked")
		} else if n.get(id) != "" {
			r["status"] = "input_required"
		}
	}))
}

func removeAfterResult() *refserver.Seams {
	n := newTextStore()
	return combineSeams(WrapHandler(spec.MethodTasksResult, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		defer n.set(taskID(c), "fetched")
		return next(c)
	}), refuseCalls(spec.MethodTasksGet, func(c *refserver.Call) bool { return n.get(taskID(c)) != "" }, spec.CodeInvalidParams, "Invalid params: there is no such task"))
}

// completeLate delays the response that creates a task of the tool slow by twice the duration of
// the work. tasks/get shows working tasks as completed.
func completeLate() *refserver.Seams {
	return combineSeams(WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if toolName(c) == "slow" && isTaskCall(c) {
			milliseconds, _ := wire.Integer(wire.At(c.Params, "/arguments/durationMs"))
			steps, _ := wire.Integer(wire.At(c.Params, "/arguments/steps"))
			for range 2 * steps { // in steps, because a busy machine delays the steps of the work as well
				sleep(c.Context(), time.Duration(milliseconds/max(1, steps))*time.Millisecond)
			}
		}
		return next(c)
	}), withoutStatusNotifications(EditResult(spec.MethodTasksGet, func(r map[string]any) {
		if r["status"] == "working" {
			r["status"] = "completed"
		}
	})))
}

// completeCancelled does not stop a task on tasks/cancel. tasks/get returns the status cancelled
// while the task continues, and then its final status.
func completeCancelled() *refserver.Seams {
	n := newTextStore()
	return combineSeams(WrapHandler(spec.MethodTasksCancel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if n.count(taskID(c)) > 1 || statusOf(c, next) != "working" {
			return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "Invalid params: the task is over"}
		}
		n.set(taskID(c), "cancelled")
		return pretendCancel(c, next)
	}), withoutStatusNotifications(EditResult(spec.MethodTasksGet, func(r map[string]any) {
		if r["status"] == "working" && n.get(r["taskId"].(string)) != "" {
			r["status"] = "cancelled"
		}
	})))
}

// cancelTaskByNotification makes tasks/get return the status cancelled for a task, once the client
// has sent notifications/cancelled for the request that created the task.
func cancelTaskByNotification() *refserver.Seams {
	n := newTextStore()
	return combineSeams(
		WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err == nil {
				if t, ok := decodeObject(result)["task"].(map[string]any); ok {
					n.set(c.ID.Key(), t["taskId"].(string))
				}
			}
			return result, err
		}),
		afterNotification(hasMethod(spec.MethodCancelled), func(note *refserver.Notification) {
			request := cancelledRequestID(note)
			if id := n.get(request.Key()); id != "" {
				n.set(id, "cancelled")
			}
		}),
		EditResult(spec.MethodTasksGet, func(r map[string]any) {
			if n.get(r["taskId"].(string)) != "" {
				r["status"] = "cancelled"
			}
		}),
	)
}

// progressAfterEnd sends progress whenever the client sends tasks/get for a completed or failed
// task whose call had a progress token.
func progressAfterEnd() *refserver.Seams {
	n := newTextStore()
	return combineSeams(WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		token := wire.At(c.Params, "/_meta/progressToken")
		if err == nil && token != nil {
			if t, ok := decodeObject(result)["task"].(map[string]any); ok {
				n.set(t["taskId"].(string), string(token))
			}
		}
		return result, err
	}), WrapHandler(spec.MethodTasksGet, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if token := n.get(taskID(c)); err == nil && token != "" && isEnded(decodeObject(result)) {
			c.Session.Notify(spec.MethodProgress, map[string]any{
				"progressToken": jsontext.Value(token), "progress": 1000 + n.count(taskID(c)), "_meta": relatedTaskMeta(taskID(c)),
			})
		}
		return result, err
	}))
}
