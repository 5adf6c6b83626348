package faults

import (
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// history keeps what was asked for in a session, the newest last.
type history struct {
	mu    sync.Mutex
	steps []string
}

// after tells, once a step is added, whether the newest steps are those given.
func (h *history) after(step string, last ...string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps = append(h.steps, step)
	if len(h.steps) > 100 {
		h.steps = slices.Delete(h.steps, 0, 50)
	}
	return len(h.steps) >= len(last) && slices.Equal(h.steps[len(h.steps)-len(last):], last)
}

// sequence wraps the handling of requests: do is called instead where the
// methods of the newest requests are those given.
func sequence(methods []string, do func(c *refserver.Call, next Handler) (any, *refserver.Error)) func() refserver.Seams {
	return func() refserver.Seams {
		h := &history{}
		return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			if h.after(c.Method, methods...) {
				return do(c, next)
			}
			return next(c)
		})
	}
}

// buriedSequences show after some requests in some order.
func buriedSequences() []Fault {
	with := func(name string, value any) func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		return func(c *refserver.Call, next Handler) (any, *refserver.Error) {
			result, err := next(c)
			if err != nil {
				return nil, err
			}
			r := plain(result)
			r[name] = value
			return r, nil
		}
	}
	return []Fault{
		breaksAfresh("prompts.list.result-schema/after-level", "prompts are no list right after a level was set twice",
			sequence([]string{spec.MethodSetLevel, spec.MethodSetLevel, spec.MethodPromptsList}, with("prompts", "none"))),
		breaksAfresh("tools.list.result-schema/after-unsubscribing", "tools are no list right after a subscription was taken back",
			sequence([]string{spec.MethodResourcesUnsubscribe, spec.MethodToolsList}, with("tools", map[string]any{}))),
		breaksAfresh("pagination.next-cursor.string/after-prompt", "the cursor of templates is a number right after a prompt was had and a level was set",
			sequence([]string{spec.MethodPromptsGet, spec.MethodSetLevel, spec.MethodResourcesTemplates}, with("nextCursor", 1))),
		breaksAfresh("ping.empty-result/after-completion", "a ping right after a completion and a level is answered with what was completed",
			sequence([]string{spec.MethodComplete, spec.MethodSetLevel, spec.MethodPing}, with("completion", map[string]any{"values": []any{}}))),
		breaksAfresh("base.request-answered/read-after-unknown", "a list of prompts right after a subscription to what is not there ends the server", func() refserver.Seams {
			var mu sync.Mutex
			refused := false
			return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
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
		breaksAfresh("logging.set-level.threshold/raised", "a level that is raised after debug stays at debug", func() refserver.Seams {
			var mu sync.Mutex
			debug := false
			return Handle(spec.MethodSetLevel, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
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
		breaksAfresh("pagination.cursor.accepted/other-list-between", "a cursor of tools is taken for unknown once prompts were listed between", func() refserver.Seams {
			h := &history{}
			return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				forgotten := h.after(c.Method, spec.MethodPromptsList, spec.MethodToolsList)
				if forgotten && wire.At(c.Params, "/cursor") != nil {
					return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "no such cursor"}
				}
				return next(c)
			})
		}),
		breaksAfresh("pagination.walk.complete/every-sixteenth", "every sixteenth walk through the resources misses the last one", func() refserver.Seams {
			var mu sync.Mutex
			ends := 0
			return Handle(spec.MethodResourcesList, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := next(c)
				if err != nil {
					return nil, err
				}
				r := plain(result)
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
		breaksAfresh("base.response-once/late-level", "the 25th level that is set is confirmed twice", func() refserver.Seams {
			var mu sync.Mutex
			n := 0
			return Outgoing(Results(spec.MethodSetLevel), func(o *refserver.Out) {
				mu.Lock()
				defer mu.Unlock()
				if n++; n == 25 {
					o.Frames = append(o.Frames, o.Frames[0])
				}
			})
		}),
		breaksAfresh("base.notification-no-response/after-unsubscribing", "a notification right after a subscription was taken back is answered", func() refserver.Seams {
			h := &history{}
			seams := Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				h.after(c.Method)
				return next(c)
			})
			seams.HandleNotification = func(n *refserver.Notification, next func(*refserver.Notification)) {
				next(n)
				if h.after(n.Method, spec.MethodResourcesUnsubscribe, spec.MethodRootsChanged) {
					n.Session.SendRaw([]byte(`{"jsonrpc":"2.0","id":null,"result":{}}`))
				}
			}
			return seams
		}),
		breaksAfresh("base.invalid-params-2024-11-05/after-refusal", "wrong params of subscriptions are served once a prompt was refused", func() refserver.Seams {
			var mu sync.Mutex
			refused := false
			return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
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

// buriedRaces show where requests cross.
func buriedRaces() []Fault {
	crowd := func(method string, most int, do func(o *refserver.Out)) func() refserver.Seams {
		return func() refserver.Seams {
			var mu sync.Mutex
			running := 0
			crowded := map[callKey]bool{}
			return together(Handle(method, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				mu.Lock()
				if running++; running > most {
					crowded[callKey{c.Session, c.ID.Key()}] = true
				}
				mu.Unlock()
				pause(c.Context(), time.Millisecond) // as a store would take
				defer func() {
					mu.Lock()
					running--
					mu.Unlock()
				}()
				return next(c)
			}), Outgoing(Answers(method), func(o *refserver.Out) {
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
	return []Fault{
		breaksAfresh("base.response-once/crowded-templates", "of three lists of templates at once one is answered twice", crowd(spec.MethodResourcesTemplates, 2, twice)),
		breaksAfresh("base.request-answered/crowded-prompts", "of four lists of prompts at once one has no answer", crowd(spec.MethodPromptsList, 3, func(o *refserver.Out) { o.Frames = nil })),
		breaksAfresh("base.response-result-or-error/crowded-completions", "of three completions at once one is answered by neither", crowd(spec.MethodComplete, 2, func(o *refserver.Out) {
			o.Frames[0] = []byte(`{"jsonrpc":"2.0","id":` + o.ID.Raw() + `}`)
		})),
	}
}

// buriedTasks show in what tasks do.
func buriedTasks() []Fault {
	return []Fault{
		breaksAfresh("tasks.transitions/asked-again", "a task that is asked for right after a result and a list has a status that is none", func() refserver.Seams {
			h := &history{}
			return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
				result, err := next(c)
				if !h.after(c.Method, spec.MethodTasksResult, spec.MethodTasksList, spec.MethodTasksGet) || err != nil {
					return result, err
				}
				r := plain(result)
				r["status"] = "unheard-of"
				return r, nil
			})
		}).in(spec.V20251125),
		breaksAfresh("tasks.create-result/short-lived", "a task that is to be kept for a millisecond has a time to live that is a text",
			func() refserver.Seams {
				return Handle(spec.MethodToolsCall, func(c *refserver.Call, next Handler) (any, *refserver.Error) {
					result, err := next(c)
					if err != nil || string(wire.At(c.Params, "/task/ttl")) != "1" {
						return result, err
					}
					r := plain(result)
					if task, ok := r["task"].(map[string]any); ok {
						task["ttl"] = "1"
					}
					return r, nil
				})
			}).in(spec.V20251125),
	}
}
