package faults

import (
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// methodHistory records the methods that a server received, newest last.
type methodHistory struct {
	mu    sync.Mutex
	steps []string
}

// endsWith records step as the newest method. It then reports whether the newest methods
// are equal to last.
func (h *methodHistory) endsWith(step string, last ...string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps = append(h.steps, step)
	if len(h.steps) > 100 {
		h.steps = slices.Delete(h.steps, 0, 50)
	}
	return len(h.steps) >= len(last) && slices.Equal(h.steps[len(h.steps)-len(last):], last)
}

// onSequence calls the function do instead of the handler if the newest methods, including that
// of the request, are equal to methods.
func onSequence(methods []string, do func(c *refserver.Call, next Handler) (any, *refserver.Error)) func() *refserver.Seams {
	return func() *refserver.Seams {
		h := &methodHistory{}
		return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if h.endsWith(c.Method, methods...) {
				return do(c, next)
			}
			return next(c)
		})
	}
}

// buriedSequences returns the faults that show only in certain sequences of requests.
func buriedSequences() []*Fault {
	with := func(name string, value any) func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		return func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil {
				return nil, err
			}
			r := decodeObject(result)
			r[name] = value
			return r, nil
		}
	}
	return []*Fault{
		newFaultWithState("prompts.list.result-schema/after-level", "prompts/list right after two logging/setLevel requests returns a string",
			onSequence([]string{spec.MethodSetLevel, spec.MethodSetLevel, spec.MethodPromptsList}, with("prompts", "none"))),
		newFaultWithState("tools.list.result-schema/after-unsubscribing", "tools/list right after resources/unsubscribe returns an object",
			onSequence([]string{spec.MethodResourcesUnsubscribe, spec.MethodToolsList}, with("tools", map[string]any{}))),
		newFaultWithState("pagination.next-cursor.string/after-prompt", "after prompts/get and logging/setLevel the templates' nextCursor is a number",
			onSequence([]string{spec.MethodPromptsGet, spec.MethodSetLevel, spec.MethodResourcesTemplates}, with("nextCursor", 1))),
		newFaultWithState("ping.empty-result/after-completion", "ping right after completion/complete and logging/setLevel returns a completion",
			onSequence([]string{spec.MethodComplete, spec.MethodSetLevel, spec.MethodPing}, with("completion", map[string]any{"values": []any{}}))),
		newFaultWithState("base.request-answered/read-after-unknown", "prompts/list right after a refused subscription ends the server", func() *refserver.Seams {
			var mu sync.Mutex
			refused := false
			return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				mu.Lock()
				was := refused
				mu.Unlock()
				if was && c.Method == spec.MethodPromptsList {
					c.Session.Exit(3)
					return nil, refserver.NoResponse
				}
				result, err := next(c)
				mu.Lock()
				defer mu.Unlock()
				refused = c.Method == spec.MethodResourcesSubscribe && err != nil
				return result, err
			})
		}),
		newFaultWithState("logging.set-level.threshold/raised", "logging/setLevel from debug to alert or emergency has no effect", func() *refserver.Seams {
			var mu sync.Mutex
			debug := false
			return WrapHandler(spec.MethodSetLevel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				level, _ := wire.Text(wire.At(c.Params, "/level"))
				mu.Lock()
				defer mu.Unlock()
				if debug && (level == "emergency" || level == "alert") {
					return map[string]any{}, nil
				}
				debug = level == "debug"
				return next(c)
			})
		}),
		newFaultWithState("pagination.cursor.accepted/other-list-between", "a tools cursor is refused after a prompts/list in between", func() *refserver.Seams {
			h := &methodHistory{}
			return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				forgotten := h.endsWith(c.Method, spec.MethodPromptsList, spec.MethodToolsList)
				if forgotten && wire.At(c.Params, "/cursor") != nil {
					return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "no such cursor"}
				}
				return next(c)
			})
		}),
		newFaultWithState("pagination.walk.complete/every-sixteenth", "every sixteenth walk through resources/list lacks the last resource", func() *refserver.Seams {
			var mu sync.Mutex
			ends := 0
			return WrapHandler(spec.MethodResourcesList, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := next(c)
				if err != nil {
					return nil, err
				}
				r := decodeObject(result)
				if list, ok := r["resources"].([]any); ok && r["nextCursor"] == nil && len(list) > 0 {
					mu.Lock()
					defer mu.Unlock()
					if ends++; ends%16 == 0 {
						r["resources"] = list[:len(list)-1]
					}
				}
				return r, nil
			})
		}),
		newFaultWithState("base.response-once/late-level", "the 25th logging/setLevel gets two responses", func() *refserver.Seams {
			var mu sync.Mutex
			n := 0
			return EditOutgoing(Results(spec.MethodSetLevel), func(o *refserver.Out) {
				mu.Lock()
				defer mu.Unlock()
				if n++; n == 25 {
					o.Frames = append(o.Frames, o.Frames[0])
				}
			})
		}),
		newFaultWithState("base.notification-no-response/after-unsubscribing", "roots/list_changed right after resources/unsubscribe gets a result", func() *refserver.Seams {
			h := &methodHistory{}
			seams := WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				h.endsWith(c.Method)
				return next(c)
			})
			seams.HandleNotification = func(n *refserver.Notification, next func(*refserver.Notification)) {
				next(n)
				if h.endsWith(n.Method, spec.MethodResourcesUnsubscribe, spec.MethodRootsChanged) {
					n.Session.SendRaw([]byte(`{"jsonrpc":"2.0","id":null,"result":{}}`))
				}
			}
			return seams
		}),
		newFaultWithState("base.invalid-params-2024-11-05/after-refusal", "after a refused prompts/get, resources/subscribe accepts invalid params", func() *refserver.Seams {
			var mu sync.Mutex
			refused := false
			return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := next(c)
				mu.Lock()
				defer mu.Unlock()
				refused = refused || c.Method == spec.MethodPromptsGet && err != nil
				if refused && c.Method == spec.MethodResourcesSubscribe && wire.At(c.Params, "/uri").Kind() != '"' {
					return map[string]any{}, nil
				}
				return result, err
			})
		}),
	}
}

// buriedRaces returns the faults that show only with concurrent requests.
func buriedRaces() []*Fault {
	crowd := func(method string, most int, do func(o *refserver.Out)) func() *refserver.Seams {
		return func() *refserver.Seams {
			var mu sync.Mutex
			running := 0
			crowded := map[callKey]bool{}
			return combineSeams(WrapHandler(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				mu.Lock()
				if running++; running > most {
					crowded[callKey{c.Session, c.ID.Key()}] = true
				}
				mu.Unlock()
				sleep(c.Context(), time.Millisecond) // like a database query
				defer func() {
					mu.Lock()
					running--
					mu.Unlock()
				}()
				return next(c)
			}), EditOutgoing(Responses(method), func(o *refserver.Out) {
				mu.Lock()
				defer mu.Unlock()
				if key := (callKey{o.Session, o.ID.Key()}); crowded[key] {
					delete(crowded, key)
					do(o)
				}
			}))
		}
	}
	twice := func(o *refserver.Out) { o.Frames = append(o.Frames, o.Frames[0]) }
	return []*Fault{
		newFaultWithState("base.response-once/crowded-templates", "one of three concurrent resources/templates/list gets two responses", crowd(spec.MethodResourcesTemplates, 2, twice)),
		newFaultWithState("base.request-answered/crowded-prompts", "one of four concurrent prompts/list gets no response", crowd(spec.MethodPromptsList, 3, func(o *refserver.Out) { o.Frames = nil })),
		newFaultWithState("base.response-result-or-error/crowded-completions", "one of three concurrent completions gets a response with neither result nor error", crowd(spec.MethodComplete, 2, func(o *refserver.Out) {
			o.Frames[0] = []byte(`{"jsonrpc":"2.0","id":` + o.ID.Raw() + `}`)
		})),
	}
}

// buriedTasks returns the faults in tasks that show only in a certain sequence or with a
// rare value.
func buriedTasks() []*Fault {
	return []*Fault{
		newFaultWithState("tasks.transitions/asked-again", "tasks/get right after tasks/result and tasks/list returns an unknown status", func() *refserver.Seams {
			h := &methodHistory{}
			return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := next(c)
				if !h.endsWith(c.Method, spec.MethodTasksResult, spec.MethodTasksList, spec.MethodTasksGet) || err != nil {
					return result, err
				}
				r := decodeObject(result)
				r["status"] = "unheard-of"
				return r, nil
			})
		}).inRevisions(spec.V20251125),
		newFaultWithState("tasks.create-result/short-lived", "a task requested with a ttl of 1 ms has a string as ttl",
			func() *refserver.Seams {
				return WrapHandler(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
					result, err := next(c)
					if err != nil || string(wire.At(c.Params, "/task/ttl")) != "1" {
						return result, err
					}
					r := decodeObject(result)
					if task, ok := r["task"].(map[string]any); ok {
						task["ttl"] = "1"
					}
					return r, nil
				})
			}).inRevisions(spec.V20251125),
	}
}
