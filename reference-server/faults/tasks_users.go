package faults

import (
	"maps"
	"slices"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

func foreignTaskFaults() []*Fault {
	return []*Fault{
		withTwoUsers(newFaultWithState("tasks.auth-foreign-rejected/get", "tasks/get finds the tasks of all users", func() *refserver.Seams {
			return shareTasks(spec.MethodTasksGet)
		})),
		withTwoUsers(newFaultWithState("tasks.auth-foreign-rejected/result", "tasks/result finds the tasks of all users", func() *refserver.Seams {
			return shareTasks(spec.MethodTasksResult)
		})),
		withTwoUsers(newFaultWithState("tasks.auth-list-filtered/all", "tasks/list lists the tasks of all users", func() *refserver.Seams {
			return shareTasks(spec.MethodTasksList)
		})),
	}
}

// shareTasks makes a method find the tasks of other sessions, too, in the state that they had when
// they were created. tasks/result returns a fixed result for the tasks of other sessions.
func shareTasks(method string) *refserver.Seams {
	var mu sync.Mutex
	known := map[string]map[string]any{} // tasks by id
	return &refserver.Seams{Handle: func(c *refserver.Call, next Handler) (any, *refserver.Error) {
		result, err := next(c)
		mu.Lock()
		defer mu.Unlock()
		if c.Method == spec.MethodToolsCall && err == nil {
			if created, ok := decodeObject(result)["task"].(map[string]any); ok {
				known[created["taskId"].(string)] = created
			}
		}
		id, _ := wire.Text(wire.At(c.Params, "/taskId"))
		task := known[id]
		switch {
		case c.Method != method:
		case method == spec.MethodTasksList:
			return map[string]any{"tasks": slices.Collect(maps.Values(known))}, nil
		case err != nil && task != nil && method == spec.MethodTasksGet:
			return task, nil
		case err != nil && task != nil:
			return map[string]any{"content": []any{map[string]any{"type": "text", "text": "the result of another user"}}}, nil
		}
		return result, err
	}}
}
