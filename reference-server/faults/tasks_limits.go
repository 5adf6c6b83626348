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

// taskLimitFaults returns the faults in how long tasks are kept and in which sessions
// can access them.
func taskLimitFaults() []*Fault {
	const web = spec.StreamableHTTP
	return []*Fault{
		newFaultWithState("tasks.max-ttl/any", "tasks have any ttl that the client requests", keepRequestedTTL),
		newFault("tasks.no-sse-for-get/streamed", "tasks/get gets a stream", respondAsStream(hasRequestOf(spec.MethodTasksGet))).overTransports(web),
		newFaultWithState("tasks.disconnect-tolerated/gone", "a task is removed when the connection of its tasks/result breaks", removeAfterDisconnect).overTransports(web),
		newFaultWithState("tasks.no-list-without-identity/everybody", "tasks/list lists the tasks of all sessions", listTasksOfAllSessions).overTransports(web),
	}
}

// legalTaskLimits returns the legal variations in how long tasks are kept.
func legalTaskLimits() []*Fault {
	return []*Fault{
		newVariation("tasks-ttl-refused", "tasks with a ttl of more than a day are refused", refuseCalls(spec.MethodToolsCall, func(c *refserver.Call) bool {
			ttl, ok := wire.Integer(wire.At(c.Params, "/task/ttl"))
			return ok && ttl > 24*60*60*1000
		}, spec.CodeInvalidParams, "No task is kept for more than a day")).inRevisions(spec.V20251125),
	}
}

// taskIn returns the task in a result: the member task if present, otherwise the
// result itself.
func taskIn(result any) map[string]any {
	r := decodeObject(result)
	if t, ok := r["task"].(map[string]any); ok {
		return t
	}
	return r
}

// keepRequestedTTL shows each task with the ttl that the client requested.
func keepRequestedTTL() *refserver.Seams {
	var mu sync.Mutex
	wanted := map[any]jsontext.Value{} // the requested ttl, by task id
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		if err != nil || c.Method != spec.MethodToolsCall && c.Method != spec.MethodTasksGet {
			return result, err
		}
		r := decodeObject(result)
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

// respondAsStream sends the responses to the matching requests as event streams instead of JSON.
func respondAsStream(when func(v *exchange) bool) *refserver.Seams {
	return editResponses(when, func(_ *exchange, r *responseEditor) {
		was := false
		r.editHead = func(status int, h http.Header, _ []byte) int {
			if was = status == http.StatusOK && !r.isStream(); was {
				h.Set("Content-Type", streamType)
				h.Del("Content-Length")
			}
			return status
		}
		r.editBody = func(b []byte) []byte {
			if !was {
				return b
			}
			return slices.Concat([]byte("data: "), b, []byte("\n\n"))
		}
	})
}

// removeAfterDisconnect removes a task if the client disconnects while tasks/result waits for it.
func removeAfterDisconnect() *refserver.Seams {
	var mu sync.Mutex
	gone := map[string]bool{}
	about := func(params jsontext.Value) string { return string(wire.At(params, "/taskId")) }
	return combineSeams(onExchange(hasRequestOf(spec.MethodTasksResult), func(v *exchange) {
		v.serve()
		if v.r.Context().Err() != nil {
			mu.Lock()
			defer mu.Unlock()
			gone[about(v.frame.Messages[0].Params())] = true
		}
	}), WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		mu.Lock()
		lost := strings.HasPrefix(c.Method, "tasks/") && gone[about(c.Params)]
		mu.Unlock()
		if lost {
			return nil, &refserver.Error{Code: spec.CodeInvalidParams, Message: "there is no task with this id"}
		}
		return next(c)
	}))
}

// listTasksOfAllSessions adds the tasks of all other sessions to tasks/list.
func listTasksOfAllSessions() *refserver.Seams {
	type owned struct {
		by   *refserver.Session
		task map[string]any
	}
	var mu sync.Mutex
	var all []owned
	return WrapHandler("", func(c *refserver.Call, next Handler) (any, *refserver.Error) {
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
			r := decodeObject(result)
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
