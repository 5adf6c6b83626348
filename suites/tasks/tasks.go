// Package tasks creates the traffic for the rules on tasks. It runs tools as tasks, requests them
// in valid and invalid ways, and cancels them. Cases judge only what a rule can't know: that an id
// was invented, that a response did not come or was lost with its connection, and that a task
// belongs to another user or session. They call only tools that the policy permits.
package tasks

import (
	"context"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

const (
	unknownID         = "tasks.unknown-id-error"
	resultAfterCancel = "tasks.result-after-cancel"
	relatedIgnored    = "tasks.related-task-in-request-ignored"
	foreignRejected   = "tasks.auth-foreign-rejected"
	listFiltered      = "tasks.auth-list-filtered"
)

// toolCalls is the capability to run tool calls as tasks.
const toolCalls = "tasks.requests.tools.call"

// Limits on what a case requests, because a server may have many tools or respond slowly.
const (
	maxPages = 20 // of a list
	maxTools = 8  // tools that are run as tasks
	maxPlain = 3  // tools that are called both as a task and without one
	maxWrong = 2  // tools that are called in the way that they forbid
	callTime = 3 * time.Second
	allTime  = 5 * time.Second // for the results of tasks
	ttl      = 60_000          // requested ttl in ms
	// centuryTTL is a ttl in ms for which no server should keep a task: a hundred years.
	centuryTTL = 100 * 365 * 24 * 60 * 60 * 1000
)

// Cases returns the cases of this area.
func Cases() []suite.Case {
	return []suite.Case{
		{
			ID:           "tasks.unknown",
			Title:        "Requests unknown tasks, lists tasks with unknown cursors, and sends task params on other requests",
			Requirements: []string{unknownID},
			Provokes: []string{
				"tasks.capability-shape", "tasks.requests-exhaustive", "tasks.list-capability", "tasks.cancel-capability",
				"tasks.list-invalid-cursor", "tasks.error-messages", "tasks.related-task-not-in-get-list-cancel",
			},
			Needs:              []string{"tasks"},
			SharesConversation: true,
			Run:                useUnknownTasks,
		},
		{
			ID:                 "tasks.undeclared",
			Title:              "Calls a tool as a task where tasks are not declared, with ordinary calls before and after",
			Provokes:           []string{"tasks.capability-declared", "tasks.undeclared-ignored"},
			Needs:              []string{"tools"},
			SharesConversation: true,
			Run:                useUndeclared,
		},
		{
			ID:           "tasks.lives",
			Title:        "Runs tools as tasks to their end, lists them, and compares their results with those of ordinary calls",
			Requirements: []string{relatedIgnored},
			Provokes:     []string{"tasks.", "progress.task-token-continues", "progress.task-stops-at-terminal"},
			Needs:        []string{toolCalls},
			Run:          runTaskLives,
		},
		{
			ID:           "tasks.slow",
			Title:        "Runs a slow tool as two tasks and as an ordinary call, waits for one task and cancels the other",
			Requirements: []string{resultAfterCancel},
			Provokes: []string{
				"tasks.create-result-immediate", "tasks.result-blocks", "tasks.cancel-status-before-response", "tasks.cancel-stops-execution",
				"tasks.cancelled-stays", "tasks.cancel-terminal-error", "cancellation.tasks-use-tasks-cancel", "progress.task-stops-at-terminal",
				"progress.task-token-continues", "tasks.related-task-everywhere", "tasks.terminal-is-final", "tasks.transitions",
			},
			Needs: []string{toolCalls},
			Waits: true,
			Run:   runSlowTask,
		},
		{
			ID:       "tasks.client",
			Title:    "Makes the server send a request to a client that declares tasks without any request type",
			Provokes: []string{"tasks.server-respects-client-capability"},
			Needs:    []string{"tools"},
			Run:      declareClientTasks,
		},
		{
			ID:           "tasks.other-user",
			Title:        "Requests, lists and cancels the tasks of one user as another",
			Requirements: []string{foreignRejected, listFiltered},
			Needs:        []string{toolCalls},
			Run:          useForeignTasks,
		},
		httpCase(),
	}
}

type object = map[string]any

// runner runs and queries tasks in one conversation.
type runner struct {
	c        *client.Conversation
	interval time.Duration // between two queries of a task

	mu   sync.Mutex
	held chan struct{} // closed when the server's requests may be answered; nil if they are answered at once
}

// startRunner begins a conversation and lists the tools in it, so that the rules know their
// taskSupport.
func startRunner(ctx context.Context, t *suite.T) *runner {
	caps := client.AllCapabilities(t.Revision)
	script := client.NewAnswers(caps)
	r := &runner{interval: leastInterval}
	r.c = t.Start(ctx, client.Options{Capabilities: caps, Answer: func(m *wire.Message) []byte {
		if m.Method != spec.MethodPing {
			r.awaitRelease()
		}
		return script.Answer(m)
	}})
	inventory.Walk(ctx, r.c, spec.MethodToolsList, "tools", maxPages)
	return r
}

// holdReplies delays the responses to the server's requests until release is called, so that a task
// is seen waiting.
func (r *runner) holdReplies() (release func()) {
	held := make(chan struct{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = held
	return sync.OnceFunc(func() { close(held) })
}

func (r *runner) awaitRelease() {
	r.mu.Lock()
	held := r.held
	r.mu.Unlock()
	if held != nil {
		<-held
	}
}

// request sends a request about the task.
func (r *runner) request(ctx context.Context, method, id string) *client.Reply {
	return r.c.Do(ctx, method, object{"taskId": id}, client.Within(callTime))
}

// getStatus returns the task's status; "" if there is none. It raises the interval to the server's
// poll interval.
func (r *runner) getStatus(ctx context.Context, id string) string {
	reply := r.request(ctx, spec.MethodTasksGet, id)
	if !reply.Succeeded() {
		return ""
	}
	if n, ok := wire.Integer(wire.At(reply.Message.Result(), "/pollInterval")); ok {
		r.interval = max(r.interval, time.Duration(min(n, time.Hour.Milliseconds()))*time.Millisecond)
	}
	status, _ := wire.Text(wire.At(reply.Message.Result(), "/status"))
	return status
}

// create runs calls as tasks, concurrently, and returns the ids of the created tasks. A harmless
// request after them distinguishes a late task from a busy server.
func (r *runner) create(ctx context.Context, calls ...object) []string {
	frames := make([][]byte, 0, len(calls))
	for _, params := range calls {
		frames = append(frames, r.c.Request(r.c.NewID(), spec.MethodToolsCall, params))
	}
	frames = append(frames, r.c.Request(r.c.NewID(), r.c.HarmlessMethod(), nil))
	var ids []string
	for _, reply := range r.c.DoAll(ctx, frames, client.Within(callTime)) {
		if reply.Answered() {
			if id, ok := wire.Text(wire.At(reply.Message.Result(), "/task/taskId")); ok {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// asTask returns the params of a call as a task.
func asTask(call inventory.KnownCall, token string, task object) object {
	params := call.ParamsWithToken("mcp-conform/task/" + token)
	params["task"] = task
	return params
}

// toolsByTaskSupport returns calls of the tools that may be called: of those that can run as tasks,
// of those that refuse tasks, and of those that require them. optional has the names of the tools
// that can be called both as a task and without one.
func toolsByTaskSupport(t *suite.T) (run, refuse, require []inventory.KnownCall, optional map[string]bool) {
	optional = map[string]bool{}
	slow, _ := t.Inventory.SlowCall(40*time.Millisecond, 2)
	for _, tool := range t.Inventory.Callable() {
		arguments, err := tool.Arguments()
		if err != nil {
			continue
		}
		call := inventory.KnownCall{Tool: tool.Name, Arguments: arguments}
		if slow.Tool == tool.Name {
			call = slow
		}
		switch word, _ := wire.Text(wire.At(tool.Raw, "/execution/taskSupport")); word {
		case "optional":
			optional[tool.Name] = true
			run = append(run, call)
		case "required":
			run, require = append(run, call), append(require, call)
		case "", "forbidden":
			refuse = append(refuse, call)
		}
	}
	return firstN(run, maxTools), firstN(refuse, maxWrong), firstN(require, maxWrong), optional
}

func firstN(calls []inventory.KnownCall, n int) []inventory.KnownCall {
	return calls[:min(n, len(calls))]
}
