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

// namesTask reports whether a message has a _meta, which names its task.
func namesTask(o *refserver.Out) bool { return wire.At(o.Frames[0], "/params/_meta") != nil }

// taskProgress picks the progress of tasks.
func taskProgress(o *refserver.Out) bool { return o.Method == spec.MethodProgress && namesTask(o) }

// taskCourseFaults are those of the course of a task, its results and its
// messages.
func taskCourseFaults() []Fault {
	noMeta := func(m Members) {
		_, p := wire.Members(m["params"])
		delete(p, "_meta")
		m["params"] = wire.JSON(p)
	}
	return []Fault{
		breaksAfresh("tasks.transitions/works-again", "a task that was over is at work again", onSecondLook(func(r map[string]any) { r["status"] = "working" })),
		breaks("tasks.transitions/other-word", "a task at work has the status running", EditResult(spec.MethodTasksGet, func(r map[string]any) {
			if r["status"] == "working" {
				r["status"] = "running"
			}
		})),
		breaksAfresh("tasks.terminal-is-final/changes", "a completed task has failed later", onSecondLook(func(r map[string]any) {
			if r["status"] == "completed" {
				r["status"], r["statusMessage"] = "failed", "It has failed after all."
			}
		})),
		breaks("tasks.input-required-status/working", "a task that asks is said to be at work", EditResult(spec.MethodTasksGet, func(r map[string]any) {
			if r["status"] == "input_required" {
				r["status"] = "working"
			}
		})),
		breaksAfresh("tasks.input-required-left/never", "a task that has asked needs input for ever", neverLeaves),
		breaks("tasks.input-request-related-task/missing", "what a task asks does not name the task", EditMessage(func(o *refserver.Out) bool { return o.Kind == refserver.OutRequest && namesTask(o) }, noMeta)),
		breaks("tasks.related-task-everywhere/progress", "the progress of tasks does not name them", EditMessage(taskProgress, noMeta)),
		breaks("tasks.related-task-everywhere/id-alone", "log messages name their task by its id alone", EditMessage(
			func(o *refserver.Out) bool { return o.Method == spec.MethodMessage && namesTask(o) }, func(m Members) {
				_, p := wire.Members(m["params"])
				p["_meta"] = wire.JSON(Members{relatedTask: wire.At(p["_meta"], "/io.modelcontextprotocol~1related-task/taskId")})
				m["params"] = wire.JSON(p)
			})),
		breaks("tasks.related-task-in-result/missing", "the result of a task does not name it", EditResult(spec.MethodTasksResult, func(r map[string]any) { delete(r, "_meta") })),
		breaksAfresh("tasks.retained-until-ttl/forgotten", "a task is forgotten when its result has been asked for", forgets),
		breaksAfresh("tasks.create-result-immediate/late", "a task is created when its work is done", late),
		breaks("tasks.result-blocks/error", "the result of a task at work is refused", Handle(spec.MethodTasksResult, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if statusOf(c, next) == "working" {
				return nil, &refserver.Error{Code: spec.CodeInternal, Message: "The task is not over yet"}
			}
			return next(c)
		})),
		breaks("tasks.result-exact/task", "the result of a task is the task", EditResult(spec.MethodTasksResult, func(r map[string]any) { delete(r, "content") })),
		breaks("tasks.result-exact/success", "the result of a task is always a success", EditResult(spec.MethodTasksResult, func(r map[string]any) { delete(r, "isError") })),
		breaks("tasks.result-exact/other", "the result of a task is told as data", EditResult(spec.MethodTasksResult, func(r map[string]any) {
			r["structuredContent"] = map[string]any{"content": r["content"]}
		})),
		breaksAfresh("tasks.result-repeatable/once", "the result of a task can be had once", func() refserver.Seams {
			n := newMemory()
			return Handle(spec.MethodTasksResult, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				if n.count(id(c)) > 1 {
					return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "Invalid params: the result was fetched already"}
				}
				return next(c)
			})
		}),
		breaks("tasks.result-after-cancel/silent", "the result of a cancelled task is never told", Handle(spec.MethodTasksResult, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if statusOf(c, next) == "cancelled" {
				return nil, refserver.NoResponse
			}
			return next(c)
		})),
		breaks("tasks.failed-status/completed", "tasks that have failed are completed", withoutStatusNotifications(together(
			EditResult(spec.MethodTasksGet, neverFails), EditResult(spec.MethodTasksList, func(r map[string]any) {
				for _, t := range items(r, "tasks") {
					neverFails(t)
				}
			})))),
		breaks("tasks.cancel-terminal-error/accepted", "a task that is over can be cancelled", Handle(spec.MethodTasksCancel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if result, err := next(c); err == nil {
				return result, nil
			}
			return get(c, next)
		})),
		breaks("tasks.cancel-terminal-error/code", "that a task is over and can't be cancelled is told by another code", recode(replies(spec.CodeInvalidParams).of(spec.MethodTasksCancel), "-32600")),
		breaks("tasks.cancel-status-before-response/working", "tasks/cancel answers with the task at work", Handle(spec.MethodTasksCancel, get)),
		breaks("tasks.cancel-status-before-response/claims", "tasks/cancel claims what it does not do", Handle(spec.MethodTasksCancel, claims)),
		breaksAfresh("tasks.cancelled-stays/completed", "a cancelled task is completed", completes),
		breaksAfresh("tasks.cancel-stops-execution/goes-on", "a cancelled task goes on logging", func() refserver.Seams {
			return Handle(spec.MethodTasksCancel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := next(c)
				if err == nil {
					log := map[string]any{"level": "info", "data": "Still at work.", "_meta": related(id(c))}
					c.Session.Go(func(ctx context.Context) {
						if pause(ctx, 150*time.Millisecond) {
							c.Session.Notify(spec.MethodMessage, log)
						}
					})
				}
				return result, err
			})
		}),
	}
}

func neverFails(t map[string]any) {
	if t["status"] == "failed" {
		t["status"] = "completed"
	}
}

func related(id string) map[string]any {
	return map[string]any{relatedTask: map[string]any{"taskId": id}}
}

// id returns the task that a request is about.
func id(c *refserver.Call) string {
	text, _ := wire.Text(wire.At(c.Params, "/taskId"))
	return text
}

// get answers as tasks/get does, whatever the method.
func get(c *refserver.Call, next Handler) (any, *refserver.Error) {
	ask := *c
	ask.Method = spec.MethodTasksGet
	return next(&ask)
}

func statusOf(c *refserver.Call, next Handler) string {
	result, err := get(c, next)
	if err != nil {
		return ""
	}
	status, _ := plain(result)["status"].(string)
	return status
}

// claims answers tasks/cancel without cancelling.
func claims(c *refserver.Call, next Handler) (any, *refserver.Error) {
	result, err := get(c, next)
	if err != nil {
		return nil, err
	}
	r := plain(result)
	r["status"] = "cancelled"
	return r, nil
}

// memory counts, and keeps texts by name, for one server.
type memory struct {
	mu    sync.Mutex
	times map[string]int
	texts map[string]string
}

func newMemory() *memory { return &memory{times: map[string]int{}, texts: map[string]string{}} }

func (m *memory) count(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.times[name]++
	return m.times[name]
}

func (m *memory) keep(name, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.texts[name] = text
}

func (m *memory) text(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.texts[name]
}

// onSecondLook edits what tasks/get shows of a task that was shown to be over.
func onSecondLook(edit func(r map[string]any)) func() refserver.Seams {
	return func() refserver.Seams {
		n := newMemory()
		return withoutStatusNotifications(EditResult(spec.MethodTasksGet, func(r map[string]any) {
			if isOver(r) && n.count(r["taskId"].(string)) > 1 {
				edit(r)
			}
		}))
	}
}

// withoutStatusNotifications sends no status notifications, which would tell otherwise.
func withoutStatusNotifications(s refserver.Seams) refserver.Seams {
	return together(s, mute(func(o *refserver.Out) bool { return o.Method == spec.MethodTasksStatus }))
}

func isOver(r map[string]any) bool { return r["status"] == "completed" || r["status"] == "failed" }

func neverLeaves() refserver.Seams {
	n := newMemory()
	return withoutStatusNotifications(EditResult(spec.MethodTasksGet, func(r map[string]any) {
		id := r["taskId"].(string)
		if r["status"] == "input_required" {
			n.keep(id, "asked")
		} else if n.text(id) != "" {
			r["status"] = "input_required"
		}
	}))
}

func forgets() refserver.Seams {
	n := newMemory()
	return together(Handle(spec.MethodTasksResult, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		defer n.keep(id(c), "fetched")
		return next(c)
	}), refuse(spec.MethodTasksGet, func(c *refserver.Call) bool { return n.text(id(c)) != "" }, spec.CodeInvalidParams, "Invalid params: there is no such task"))
}

// late answers with the task when twice as much time has gone by as the work
// takes, and shows it completed from then on.
func late() refserver.Seams {
	return together(Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if tool(c) == "slow" && wantsTask(c) {
			milliseconds, _ := wire.Integer(wire.At(c.Params, "/arguments/durationMs"))
			steps, _ := wire.Integer(wire.At(c.Params, "/arguments/steps"))
			for range 2 * steps { // as the work does it, which a busy machine makes longer
				pause(c.Context(), time.Duration(milliseconds/max(1, steps))*time.Millisecond)
			}
		}
		return next(c)
	}), withoutStatusNotifications(EditResult(spec.MethodTasksGet, func(r map[string]any) {
		if r["status"] == "working" {
			r["status"] = "completed"
		}
	})))
}

// completes lets cancelled tasks go on and shows what becomes of them.
func completes() refserver.Seams {
	n := newMemory()
	return together(Handle(spec.MethodTasksCancel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		if n.count(id(c)) > 1 || statusOf(c, next) != "working" {
			return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "Invalid params: the task is over"}
		}
		n.keep(id(c), "cancelled")
		return claims(c, next)
	}), withoutStatusNotifications(EditResult(spec.MethodTasksGet, func(r map[string]any) {
		if r["status"] == "working" && n.text(r["taskId"].(string)) != "" {
			r["status"] = "cancelled"
		}
	})))
}

// byNotification shows a task cancelled when its request was.
func byNotification() refserver.Seams {
	n := newMemory()
	return together(
		Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err == nil {
				if t, ok := plain(result)["task"].(map[string]any); ok {
					n.keep(c.ID.Key(), t["taskId"].(string))
				}
			}
			return result, err
		}),
		notified(method(spec.MethodCancelled), func(note *refserver.Notification) {
			request := cancelledIn(note)
			if id := n.text(request.Key()); id != "" {
				n.keep(id, "cancelled")
			}
		}),
		EditResult(spec.MethodTasksGet, func(r map[string]any) {
			if n.text(r["taskId"].(string)) != "" {
				r["status"] = "cancelled"
			}
		}),
	)
}

// goesOn reports progress on a task whenever it is asked for and over.
func goesOn() refserver.Seams {
	n := newMemory()
	return together(Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		token := wire.At(c.Params, "/_meta/progressToken")
		if err == nil && token != nil {
			if t, ok := plain(result)["task"].(map[string]any); ok {
				n.keep(t["taskId"].(string), string(token))
			}
		}
		return result, err
	}), Handle(spec.MethodTasksGet, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if token := n.text(id(c)); err == nil && token != "" && isOver(plain(result)) {
			c.Session.Notify(spec.MethodProgress, map[string]any{
				"progressToken": jsontext.Value(token), "progress": 1000 + n.count(id(c)), "_meta": related(id(c)),
			})
		}
		return result, err
	}))
}
