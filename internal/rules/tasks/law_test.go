package tasks_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/rules/tasks"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

type object = map[string]any

// conformingServer simulates a conforming server with a client that sends it random requests. The
// server handles requests in any order, and its responses may overtake each other.
type conformingServer struct {
	t       *rapid.T
	lines   []string
	now     time.Duration
	ids     int
	posed   int
	tasks   []*taskOf
	pending []*clientRequest
	ready   []string // responses that are ready to be sent
	cursors []string
}

type taskOf struct {
	id, token, status string
	request           int
	created, updated  time.Duration
	failing, gone     bool
	posed             int // the id of the server request for which the task waits, 0 if there is none
}

type clientRequest struct {
	id     int
	method string
	params object
}

func (w *conformingServer) addMessage(side string, message object) {
	message["jsonrpc"] = "2.0"
	b, err := json.Marshal(message)
	if err != nil {
		w.t.Fatal(err)
	}
	w.lines = append(w.lines, side+" "+string(b))
}

func (w *conformingServer) sendRequest(method string, params object) {
	w.ids++
	m := object{"id": w.ids, "method": method}
	if params != nil {
		m["params"] = params
	}
	w.addMessage(">", m)
	w.pending = append(w.pending, &clientRequest{w.ids, method, params})
}

func at(d time.Duration) string {
	return time.Date(2025, 11, 25, 10, 30, 0, 0, time.UTC).Add(d).Format(time.RFC3339Nano)
}

func (w *conformingServer) taskObject(t *taskOf) object {
	o := object{"taskId": t.id, "status": t.status, "createdAt": at(t.created), "lastUpdatedAt": at(t.updated), "ttl": 3_600_000}
	if t.status == "failed" {
		o["statusMessage"] = "It could not be done."
	}
	return o
}

func related(id string) object {
	return object{"io.modelcontextprotocol/related-task": object{"taskId": id}}
}

func (w *conformingServer) setStatus(t *taskOf, status string) {
	t.status, t.updated = status, w.now
	if rapid.Bool().Draw(w.t, "told") {
		w.addMessage("<", object{"method": "notifications/tasks/status", "params": w.taskObject(t)})
	}
}

func (t *taskOf) isOver() bool {
	return slices.Contains([]string{"completed", "failed", "cancelled"}, t.status)
}

func (w *conformingServer) find(id any) *taskOf {
	for _, t := range w.tasks {
		if t.id == id && !t.gone {
			return t
		}
	}
	return nil
}

func result(failing bool) object {
	o := object{"content": []object{{"type": "text", "text": "done"}}}
	if failing {
		o["isError"] = true
	}
	return o
}

// respond produces the response to a request, and reports whether it is available yet.
func (w *conformingServer) respond(a *clientRequest) bool {
	answer := object{"id": a.id}
	refuse := func(code int) { answer["error"] = object{"code": code, "message": "That can't be done"} }
	t := w.find(a.params["taskId"])
	switch {
	case a.method == "tools/call" && a.params["task"] != nil:
		t := &taskOf{id: fmt.Sprintf("%x%d", 0x9e3779b97f4a7c15*uint64(len(w.tasks)+1), 7), request: a.id, status: "working", created: w.now, updated: w.now}
		t.failing = a.params["name"] == "fail"
		if meta, ok := a.params["_meta"].(object); ok {
			t.token = meta["progressToken"].(string)
		}
		answer["result"] = object{"task": w.taskObject(t)}
		w.addMessage("<", answer) // sent at once, so that no message about the task comes before it
		w.tasks = append(w.tasks, t)
		return true
	case a.method == "tools/call":
		answer["result"] = result(a.params["name"] == "fail")
	case a.method == "ping":
		answer["result"] = object{}
	case a.method == "tasks/list":
		w.respondList(a, answer)
	case t == nil:
		refuse(-32602)
	case a.method == "tasks/get":
		answer["result"] = w.taskObject(t)
	case a.method == "tasks/cancel" && t.isOver():
		refuse(-32602)
	case a.method == "tasks/cancel":
		w.setStatus(t, "cancelled")
		answer["result"] = w.taskObject(t)
		t.gone = rapid.Bool().Draw(w.t, "deleted")
	case !t.isOver():
		return false
	case t.status == "cancelled":
		refuse(-32603)
	default:
		r := result(t.failing)
		r["_meta"] = related(t.id)
		answer["result"] = r
	}
	answer["jsonrpc"] = "2.0"
	b, err := json.Marshal(answer)
	if err != nil {
		w.t.Fatal(err)
	}
	w.ready = append(w.ready, "< "+string(b))
	return true
}

// respondList responds with pages of two tasks; a cursor is the number of tasks before it.
func (w *conformingServer) respondList(a *clientRequest, answer object) {
	from := 0
	if cursor, ok := a.params["cursor"].(string); ok {
		if _, err := fmt.Sscanf(cursor, "after-%d", &from); err != nil {
			answer["error"] = object{"code": -32602, "message": "There is no such cursor"}
			return
		}
	}
	page, r := []object{}, object{}
	for i := from; i < len(w.tasks); i++ {
		if len(page) == 2 {
			r["nextCursor"] = fmt.Sprintf("after-%d", i)
			break
		}
		if !w.tasks[i].gone {
			page = append(page, w.taskObject(w.tasks[i]))
		}
	}
	r["tasks"] = page
	answer["result"] = r
}

// work advances a task.
func (w *conformingServer) work(t *taskOf) {
	switch choice := rapid.IntRange(0, 4).Draw(w.t, "work"); {
	case t.isOver() || t.posed > 0:
	case choice == 0 && t.token != "":
		w.addMessage("<", object{"method": "notifications/progress", "params": object{"progressToken": t.token, "progress": len(w.lines), "_meta": related(t.id)}})
	case choice == 1:
		w.setStatus(t, "input_required")
		w.posed++
		t.posed = w.posed
		w.addMessage("<", object{"id": w.posed, "method": "elicitation/create", "params": object{"message": "?", "requestedSchema": object{"type": "object", "properties": object{}}, "_meta": related(t.id)}})
	case choice == 2 && t.failing:
		w.setStatus(t, "failed")
	case choice == 2:
		w.setStatus(t, "completed")
	}
}

// step performs one action of the client or the server.
func (w *conformingServer) step() {
	w.now += time.Duration(rapid.IntRange(0, 4).Draw(w.t, "ms")) * time.Millisecond
	w.lines = append(w.lines, "! at "+w.now.String())
	id := any("none")
	if len(w.tasks) > 0 && rapid.IntRange(0, 5).Draw(w.t, "known") > 0 {
		id = rapid.SampledFrom(w.tasks).Draw(w.t, "task").id
	}
	name := rapid.SampledFrom([]string{"work", "fail"}).Draw(w.t, "tool")
	switch rapid.IntRange(0, 12).Draw(w.t, "step") {
	case 0:
		w.sendRequest("tools/call", object{"name": name, "task": object{}, "_meta": object{"progressToken": fmt.Sprintf("t%d", w.ids)}})
	case 1:
		w.sendRequest("tools/call", object{"name": name, "task": object{"ttl": 60000}})
	case 2:
		w.sendRequest("tools/call", object{"name": name})
	case 3:
		w.sendRequest("tasks/result", object{"taskId": id})
	case 4:
		w.sendRequest("tasks/cancel", object{"taskId": id})
	case 5:
		if len(w.cursors) > 0 && rapid.Bool().Draw(w.t, "further") {
			w.sendRequest("tasks/list", object{"cursor": w.cursors[len(w.cursors)-1]})
		} else {
			w.sendRequest("tasks/list", object{})
		}
	case 6:
		if len(w.tasks) > 0 && w.tasks[0].request > 0 {
			w.addMessage(">", object{"method": "notifications/cancelled", "params": object{"requestId": w.tasks[0].request}})
		}
	case 7:
		for _, t := range w.tasks {
			if t.posed > 0 {
				w.addMessage(">", object{"id": t.posed, "result": object{"action": "decline"}})
				t.posed = 0
				if !t.isOver() {
					w.setStatus(t, "working")
				}
			}
		}
	case 8, 9:
		w.sendRequest("tasks/get", object{"taskId": id})
	case 10:
		w.sendRequest("ping", nil)
	case 11:
		for _, t := range w.tasks {
			if t.status == "cancelled" && !t.gone {
				w.sendRequest("tasks/get", object{"taskId": t.id})
			}
		}
	case 12:
		w.sendRequest("tools/call", object{"name": name})
	}
	w.serveSome()
}

// serveSome handles some requests, sends some responses, and advances some tasks.
func (w *conformingServer) serveSome() {
	for range rapid.IntRange(0, 3).Draw(w.t, "served") {
		if n := len(w.pending); n > 0 {
			i := rapid.IntRange(0, n-1).Draw(w.t, "taken")
			if w.respond(w.pending[i]) {
				w.pending = slices.Delete(w.pending, i, i+1)
			}
		}
		if n := len(w.ready); n > 0 && rapid.Bool().Draw(w.t, "sent") {
			i := rapid.IntRange(0, n-1).Draw(w.t, "answer")
			w.lines = append(w.lines, w.ready[i])
			if cursor := regexp.MustCompile(`after-\d+`).FindString(w.ready[i]); cursor != "" {
				w.cursors = append(w.cursors, cursor)
			}
			w.ready = slices.Delete(w.ready, i, i+1)
		}
		if len(w.tasks) > 0 {
			w.work(rapid.SampledFrom(w.tasks).Draw(w.t, "worked on"))
		}
	}
}

// A conforming server has no findings, whatever it sends and in whatever order its responses
// come.
func TestConformingServerHasNoFindings(t *testing.T) {
	const head = `
> {"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}
< {"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"s","version":"1"}}}
> {"jsonrpc":"2.0","method":"notifications/initialized"}
> {"jsonrpc":"2.0","id":"tools","method":"tools/list"}
< {"jsonrpc":"2.0","id":"tools","result":{"tools":[{"name":"work","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},{"name":"fail","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}}
`
	seen := map[string]bool{}
	keepsTheRules := func(t *rapid.T) {
		w := &conformingServer{t: t}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			w.step()
		}
		record, err := transcript.ParseScript(head + strings.Join(w.lines, "\n"))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rules.Judge(tasks.Rules(), record.Events[:rapid.IntRange(0, len(record.Events)).Draw(t, "so far")], spec.V20251125, spec.Stdio) {
			for _, d := range r.Deviations {
				if d.Outcome(spec.Requirements().Lookup(r.Requirement), r.Revision) > verdict.Note {
					t.Fatalf("%s, at the beginning: %s\nseen %s at %v in\n%s", r.Requirement, d.Summary, d.Seen, d.At, strings.Join(w.lines, "\n"))
				}
			}
		}
		for _, r := range rules.Judge(tasks.Rules(), record.Events, spec.V20251125, spec.Stdio) {
			seen[r.Requirement] = true
			for _, d := range r.Deviations {
				if d.Outcome(spec.Requirements().Lookup(r.Requirement), r.Revision) > verdict.Note {
					t.Fatalf("%s: %s\nseen %s at %v in\n%s", r.Requirement, d.Summary, d.Seen, d.At, strings.Join(w.lines, "\n"))
				}
			}
		}
	}
	required := []string{"tasks.terminal-is-final", "tasks.cancelled-stays", "tasks.result-blocks", "tasks.list-includes-gettable", "tasks.input-required-status", "progress.task-stops-at-terminal"}
	neverSeen := func() []string {
		return slices.DeleteFunc(slices.Clone(required), func(id string) bool { return seen[id] })
	}
	// One check rarely misses a requirement by chance, ten never do.
	for range 10 {
		if rapid.Check(t, keepsTheRules); t.Failed() || len(neverSeen()) == 0 {
			return
		}
	}
	t.Errorf("never observed: %s", strings.Join(neverSeen(), ", "))
}
