package faults

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// taskLimitFaults are about how tasks are kept, and for whom.
func taskLimitFaults() []Fault {
	const web = spec.StreamableHTTP
	return []Fault{
		breaksAfresh("tasks.max-ttl/any", "tasks are kept for as long as the client wants", keepsForEver),
		breaks("tasks.no-sse-for-get/streamed", "tasks/get is answered by a stream", asStream(asking(spec.MethodTasksGet))).over(web),
		breaksAfresh("tasks.disconnect-tolerated/gone", "a task is gone when the connection breaks on which its result was waited for", goneWhenLeft).over(web),
		breaksAfresh("tasks.no-list-without-identity/everybody", "all clients see the tasks of all", listsAll).over(web),
	}
}

// legalTaskLimits are the variations of that.
func legalTaskLimits() []Fault {
	return []Fault{
		legal("tasks-ttl-refused", "tasks that are wanted for more than a day are refused", refuse(spec.MethodToolsCall, func(c *refserver.Call) bool {
			ttl, ok := wire.Integer(wire.At(c.Params, "/task/ttl"))
			return ok && ttl > 24*60*60*1000
		}, spec.CodeInvalidParams, "No task is kept for more than a day")).in(spec.V20251125),
	}
}

// taskIn returns the task that a result describes: its own members, or those
// of the member task.
func taskIn(result any) map[string]any {
	r := plain(result)
	if t, ok := r["task"].(map[string]any); ok {
		return t
	}
	return r
}

// keepsForEver keeps tasks as long as the client asks for.
func keepsForEver() refserver.Seams {
	var mu sync.Mutex
	wanted := map[any]jsontext.Value{} // by task
	return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil || c.Method != spec.MethodToolsCall && c.Method != spec.MethodTasksGet {
			return result, err
		}
		r := plain(result)
		t, isNew := r["task"].(map[string]any)
		if !isNew {
			t = r
		}
		mu.Lock()
		defer mu.Unlock()
		if ttl := wire.At(c.Params, "/task/ttl"); isNew && ttl != nil {
			wanted[t["taskId"]] = ttl
		}
		if ttl := wanted[t["taskId"]]; ttl != nil {
			t["ttl"] = ttl
			return r, nil
		}
		return result, nil
	})
}

// asStream answers by a stream what else gets JSON.
func asStream(when func(v *visit) bool) refserver.Seams {
	return alters(when, func(_ *visit, r *reply) {
		was := false
		r.head = func(status int, h http.Header, _ []byte) int {
			if was = status == http.StatusOK && !r.streams(); was {
				h.Set("Content-Type", streamType)
				h.Del("Content-Length")
			}
			return status
		}
		r.edit = func(b []byte) []byte {
			if !was {
				return b
			}
			return slices.Concat([]byte("data: "), b, []byte("\n\n"))
		}
	})
}

// goneWhenLeft forgets tasks whose tasks/result lost its connection.
func goneWhenLeft() refserver.Seams {
	var mu sync.Mutex
	gone := map[string]bool{}
	about := func(params jsontext.Value) string { return string(wire.At(params, "/taskId")) }
	return together(visits(asking(spec.MethodTasksResult), func(v *visit) {
		v.serve()
		if v.r.Context().Err() != nil {
			mu.Lock()
			defer mu.Unlock()
			gone[about(v.frame.Messages[0].Params())] = true
		}
	}), Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		mu.Lock()
		lost := strings.HasPrefix(c.Method, "tasks/") && gone[about(c.Params)]
		mu.Unlock()
		if lost {
			return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "there is no task with this id"}
		}
		return next(c)
	}))
}

// listsAll adds to the tasks of a session those of all others.
func listsAll() refserver.Seams {
	type owned struct {
		by   *refserver.Session
		task map[string]any
	}
	var mu sync.Mutex
	var all []owned
	return Handle("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		switch c.Method {
		case spec.MethodToolsCall:
			if t := taskIn(result); t["taskId"] != nil {
				all = append(all, owned{c.Session, t})
			}
		case spec.MethodTasksList:
			r := plain(result)
			for _, t := range all {
				if t.by != c.Session {
					r["tasks"] = append(r["tasks"].([]any), t.task)
				}
			}
			return r, nil
		}
		return result, nil
	})
}
