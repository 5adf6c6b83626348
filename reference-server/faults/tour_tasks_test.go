package faults_test

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// taskVisitor is a visitor that calls tools as tasks and sends no response to their
// requests.
var taskVisitor = visitor{
	capabilities: `{"elicitation":{},"tasks":{}}`, pages: 3, more: taskWalk(),
	reply: func(*wire.Message) []byte { return nil },
}

// taskWalk returns messages that create, query and cancel tasks. withTasks replaces $1
// with the id of the first created task, and so on.
func taskWalk() []string {
	var lines []string
	ask := func(method, params string) {
		lines = append(lines, request(fmt.Sprint(300+len(lines)), method, params))
	}
	about := func(id string, methods ...string) {
		for _, method := range methods {
			ask("tasks/"+method, `{"taskId":"`+id+`"}`)
		}
	}
	ask("tools/call", `{"name":"slow","arguments":{"durationMs":60000},"task":{}}`)
	ask("tools/call", `{"name":"slow","arguments":{"durationMs":90,"steps":3},"_meta":{"progressToken":"p"},"task":{"ttl":60000}}`)
	ask("tools/call", `{"name":"echo","arguments":{"text":"a"},"task":{"ttl":3153600000000,"taskId":"proposed"}}`)
	ask("tools/call", `{"name":"ask-elicitation","task":{}}`)
	about("$4", "get")
	for _, call := range []string{
		`"name":"fail","task":{}`, `"name":"log","task":{}`, `"name":"background","task":{}`,
		`"name":"add","arguments":{"a":1,"b":2},"task":{}`, `"name":"background"`, `"name":"slow","arguments":{"durationMs":1}`,
	} {
		ask("tools/call", "{"+call+"}")
	}
	about("$1", "get", "result")
	about("$2", "get", "get", "get", "result", "result", "get")
	about("$3", "get", "result", "cancel")
	about("$5", "get", "result")
	about("none", "get", "result", "cancel")
	ask("tasks/list", "")
	ask("tasks/list", fmt.Sprintf(`{"cursor":%q}`, base64.RawURLEncoding.EncodeToString([]byte("tasks/list@3"))))
	ask("tasks/list", `{"cursor":"made up"}`)
	ask("tasks/get", `{"taskId":"$2","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"$3"}}}`)
	ask("tools/list", `{"task":{}}`)
	lines = append(lines, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":300}}`)
	about("$1", "get", "cancel", "get", "result", "cancel", "get")
	for range 3 { // the running tasks proceed during this time
		ask("ping", "")
	}
	about("$4", "get")
	return lines
}

// withTasks replaces $1, $2, … in a line with the ids of the created tasks.
func withTasks(line string, said []receivedFrame) string {
	if !strings.Contains(line, "$") {
		return line
	}
	var names []string
	for _, h := range said {
		for i := range h.messages {
			if id, ok := wire.Text(wire.At(h.messages[i].Result(), "/task/taskId")); ok && h.method == spec.MethodToolsCall {
				names = append(names, fmt.Sprintf("$%d", len(names)/2+1), id)
			}
		}
	}
	return strings.NewReplacer(names...).Replace(line)
}
