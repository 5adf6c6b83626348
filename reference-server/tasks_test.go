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

// create makes a task and returns its id.
func (r *running) create(params string) string {
	r.t.Helper()
	var answer struct {
		Result struct{ Task struct{ TaskID string } }
	}
	if err := json.Unmarshal([]byte(r.ask(spec.MethodToolsCall, json.RawMessage(params))), &answer); err != nil {
		r.t.Fatal(err)
	}
	return answer.Result.Task.TaskID
}

func (r *running) about(method, id string) string {
	r.t.Helper()
	return r.ask(method, map[string]any{"taskId": id})
}

func TestTaskIsForgottenAfterItsTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, refserver.Options{})
		r.open("2025-11-25", `{}`)
		over := r.create(`{"name":"echo","arguments":{"text":"a"},"task":{"ttl":2000}}`)
		busy := r.create(`{"name":"background","arguments":{"durationMs":60000},"task":{"ttl":2000}}`)
		kept := r.create(`{"name":"echo","arguments":{"text":"b"},"task":{"ttl":9000}}`)
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"waits","method":"tasks/result","params":{"taskId":%q}}`, busy))

		time.Sleep(1999 * time.Millisecond)
		for _, id := range []string{over, busy, kept} {
			if got := r.about(spec.MethodTasksGet, id); !strings.Contains(got, `"result"`) {
				t.Errorf("before its ttl is over a task is gone: %s", got)
			}
		}
		time.Sleep(2 * time.Millisecond)
		for line := r.line(); !strings.Contains(line, `"id":"waits"`); line = r.line() {
			if !strings.Contains(line, spec.MethodTasksStatus) {
				t.Errorf("what waits for a task should be answered at the end of its ttl; got %s", line)
			}
		}
		for _, id := range []string{over, busy} {
			for _, method := range []string{spec.MethodTasksGet, spec.MethodTasksResult, spec.MethodTasksCancel} {
				if got := r.about(method, id); !strings.Contains(got, `"code":-32602`) {
					t.Errorf("after the ttl %s got %s", method, got)
				}
			}
		}
		if got := r.ask(spec.MethodTasksList, map[string]any{}); !strings.Contains(got, kept) || strings.Contains(got, over) || strings.Contains(got, busy) {
			t.Errorf("after the ttl of two of three the list is %s", got)
		}
	})
}

func TestTaskCursorOutlivesTheTasksBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, refserver.Options{PageSizes: []int{2}})
		r.open("2025-11-25", `{}`)
		for range 2 {
			r.create(`{"name":"echo","arguments":{"text":"a"},"task":{"ttl":2000}}`)
		}
		last := r.create(`{"name":"echo","arguments":{"text":"b"},"task":{"ttl":9000}}`)
		var page struct{ Result struct{ NextCursor string } }
		if err := json.Unmarshal([]byte(r.ask(spec.MethodTasksList, map[string]any{})), &page); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		got := r.ask(spec.MethodTasksList, map[string]any{"cursor": page.Result.NextCursor})
		if !strings.Contains(got, last) {
			t.Errorf("the page behind tasks that have gone lacks the one that has not: %s", got)
		}
	})
}

func TestTasksAreBounded(t *testing.T) {
	const limit = 1024
	r := start(t, refserver.Options{})
	r.open("2025-11-25", `{}`)
	seen := map[string]bool{}
	for range limit {
		seen[r.create(`{"name":"echo","arguments":{"text":"a"},"task":{}}`)] = true
	}
	if len(seen) != limit {
		t.Errorf("%d tasks have %d ids", limit, len(seen))
	}
	if got := r.ask(spec.MethodToolsCall, json.RawMessage(`{"name":"echo","arguments":{"text":"a"},"task":{}}`)); !strings.Contains(got, `"code":-32603`) {
		t.Errorf("one task more got %s", got)
	}
}

func TestTaskEndsWithTheSession(t *testing.T) {
	for _, waiting := range []bool{false, true} {
		r := start(t, refserver.Options{DrainTime: time.Millisecond})
		r.open("2025-11-25", `{}`)
		id := r.create(`{"name":"background","arguments":{"durationMs":60000},"task":{}}`)
		if waiting {
			r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"waits","method":"tasks/result","params":{"taskId":%q}}`, id))
			r.about(spec.MethodTasksGet, id)
		}
		r.in.Close()
		if code := r.exited(); code != 0 {
			t.Errorf("exit code %d; want 0", code)
		}
		if got := r.rest(); len(got) > 0 {
			t.Errorf("after the end came %q", got)
		}
	}
}
