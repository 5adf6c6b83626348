package refserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	refserver "github.com/mcp-conform/mcp-conform/reference-server"
)

// createTask calls a tool as a task and returns the task's id.
func (r *stdioServer) createTask(params string) string {
	r.t.Helper()
	var answer struct {
		Result struct{ Task struct{ TaskID string } }
	}
	if err := json.Unmarshal([]byte(r.request(spec.MethodToolsCall, json.RawMessage(params))), &answer); err != nil {
		r.t.Fatal(err)
	}
	return answer.Result.Task.TaskID
}

func (r *stdioServer) requestTask(method, id string) string {
	r.t.Helper()
	return r.request(method, map[string]any{"taskId": id})
}

func TestTaskIsRemovedAfterItsTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := startStdio(t, refserver.Options{})
		r.initialize("2025-11-25", `{}`)
		over := r.createTask(`{"name":"echo","arguments":{"text":"a"},"task":{"ttl":2000}}`)
		busy := r.createTask(`{"name":"background","arguments":{"durationMs":60000},"task":{"ttl":2000}}`)
		kept := r.createTask(`{"name":"echo","arguments":{"text":"b"},"task":{"ttl":9000}}`)
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"waits","method":"tasks/result","params":{"taskId":%q}}`, busy))

		time.Sleep(1999 * time.Millisecond)
		for _, id := range []string{over, busy, kept} {
			if got := r.requestTask(spec.MethodTasksGet, id); !strings.Contains(got, `"result"`) {
				t.Errorf("a task was removed before its ttl: %s", got)
			}
		}
		time.Sleep(2 * time.Millisecond)
		for line := r.nextLine(); !strings.Contains(line, `"id":"waits"`); line = r.nextLine() {
			if !strings.Contains(line, spec.MethodTasksStatus) {
				t.Errorf("tasks/result should get a response at the end of the ttl; got %s", line)
			}
		}
		for _, id := range []string{over, busy} {
			for _, method := range []string{spec.MethodTasksGet, spec.MethodTasksResult, spec.MethodTasksCancel} {
				if got := r.requestTask(method, id); !strings.Contains(got, `"code":-32602`) {
					t.Errorf("after the ttl %s got %s", method, got)
				}
			}
		}
		if got := r.request(spec.MethodTasksList, map[string]any{}); !strings.Contains(got, kept) || strings.Contains(got, over) || strings.Contains(got, busy) {
			t.Errorf("after two of three tasks expired the list is %s", got)
		}
	})
}

func TestTaskCursorOutlivesTheTasksBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := startStdio(t, refserver.Options{PageSizes: []int{2}})
		r.initialize("2025-11-25", `{}`)
		for range 2 {
			r.createTask(`{"name":"echo","arguments":{"text":"a"},"task":{"ttl":2000}}`)
		}
		last := r.createTask(`{"name":"echo","arguments":{"text":"b"},"task":{"ttl":9000}}`)
		var page struct{ Result struct{ NextCursor string } }
		if err := json.Unmarshal([]byte(r.request(spec.MethodTasksList, map[string]any{})), &page); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		got := r.request(spec.MethodTasksList, map[string]any{"cursor": page.Result.NextCursor})
		if !strings.Contains(got, last) {
			t.Errorf("after the tasks before the cursor expired, its page lacks the remaining task: %s", got)
		}
	})
}

func TestTasksAreBounded(t *testing.T) {
	const limit = 1024
	r := startStdio(t, refserver.Options{})
	r.initialize("2025-11-25", `{}`)
	seen := map[string]bool{}
	for range limit {
		seen[r.createTask(`{"name":"echo","arguments":{"text":"a"},"task":{}}`)] = true
	}
	if len(seen) != limit {
		t.Errorf("%d tasks have %d ids", limit, len(seen))
	}
	if got := r.request(spec.MethodToolsCall, json.RawMessage(`{"name":"echo","arguments":{"text":"a"},"task":{}}`)); !strings.Contains(got, `"code":-32603`) {
		t.Errorf("one task more got %s", got)
	}
}

func TestTaskEndsWithTheSession(t *testing.T) {
	for _, waiting := range []bool{false, true} {
		r := startStdio(t, refserver.Options{DrainTimeout: time.Millisecond})
		r.initialize("2025-11-25", `{}`)
		id := r.createTask(`{"name":"background","arguments":{"durationMs":60000},"task":{}}`)
		if waiting {
			r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"waits","method":"tasks/result","params":{"taskId":%q}}`, id))
			r.requestTask(spec.MethodTasksGet, id)
		}
		r.in.Close()
		if code := r.exitCode(); code != 0 {
			t.Errorf("exit code %d; want 0", code)
		}
		if got := r.remainingLines(); len(got) > 0 {
			t.Errorf("the server sent %q after stdin was closed", got)
		}
	}
}
