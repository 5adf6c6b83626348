package refserver

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// hasTasks reports whether the server supports tasks in revision r. Tasks are an
// experimental feature of a single revision.
func (o *Options) hasTasks(r spec.Revision) bool { return r == spec.V20251125 && !o.NoSessions }

// The statuses of a task. The last three are terminal.
const (
	taskWorking       = "working"
	taskInputRequired = "input_required"
	taskCompleted     = "completed"
	taskFailed        = "failed"
	taskCancelled     = "cancelled"
)

// Limits on tasks. A ttl counts from the creation of the task.
const (
	minTTL       = time.Second // a client needs time to poll the task
	defaultTTL   = 5 * time.Minute
	maxTTL       = 15 * time.Minute
	pollInterval = 20 * time.Millisecond
	maxTasks     = 1024 // per session, at the same time
)

var errExpired = errors.New("the ttl of the task is over")

// A task is a tool call that continues after the response to its request.
type task struct {
	id      string
	number  int // in the order of creation, from 1
	created time.Time
	ttl     time.Duration
	session *Session
	stop    context.CancelFunc // ends the execution
	done    chan struct{}      // closed once the status is terminal

	// mu is held while a notification of the task is sent, so that the client receives the changes
	// of status in order, and no notification after the terminal status.
	mu      sync.Mutex
	status  string
	message string
	updated time.Time
	result  any    // of the call
	err     *Error // of the call, instead of a result
}

// object returns the JSON object that describes the task in results and in notifications.
func (t *task) object() object {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.objectLocked()
}

// objectLocked is like object for a caller that holds mu.
func (t *task) objectLocked() object {
	o := object{
		"taskId": t.id, "status": t.status, "createdAt": timestamp(t.created), "lastUpdatedAt": timestamp(t.updated),
		"ttl": t.ttl.Milliseconds(), "pollInterval": pollInterval.Milliseconds(),
	}
	if t.message != "" {
		o["statusMessage"] = t.message
	}
	return o
}

func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// isTerminal reports whether the task has ended. The caller holds mu.
func (t *task) isTerminal() bool {
	return t.status == taskCompleted || t.status == taskFailed || t.status == taskCancelled
}

// setNonTerminal changes the status to one that is not terminal, unless the task has
// ended.
func (t *task) setNonTerminal(status, message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.isTerminal() {
		t.update(status, message)
	}
}

// setTerminal changes to a terminal status and sets the outcome that tasks/result returns
// from then on. It returns false and changes nothing if the task has already ended,
// as when a cancelled execution returns.
func (t *task) setTerminal(status, message string, result any, err *Error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isTerminal() {
		return false
	}
	t.result, t.err = result, err
	t.update(status, message)
	close(t.done)
	return true
}

// update changes the status and notifies the client. The notification contains the task and its
// id, so it needs no related-task metadata. The caller holds mu.
func (t *task) update(status, message string) {
	t.status, t.message, t.updated = status, message, time.Now()
	t.session.notify(wire.ID{}, spec.MethodTasksStatus, t.objectLocked())
}

// notify sends a notification of the execution, unless the task has ended.
func (t *task) notify(method string, params any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.isTerminal() {
		t.session.notify(wire.ID{}, method, withTask(params, t.id))
	}
}

// sendRequest sends a request to the client on behalf of the execution. The status is
// input_required until sendRequest returns.
func (t *task) sendRequest(ctx context.Context, method string, params any) (jsontext.Value, error) {
	t.setNonTerminal(taskInputRequired, "Waiting for the client's answer to "+method+".")
	defer t.setNonTerminal(taskWorking, "")
	return t.session.sendRequest(ctx, wire.ID{}, t.id, method, params)
}

const relatedTask = "io.modelcontextprotocol/related-task"

// withTask adds the related-task metadata to params or to a result, unless id is
// empty.
func withTask(members any, id string) any {
	if id == "" {
		return members
	}
	o := object{}
	if given, ok := members.(object); ok {
		o = maps.Clone(given)
	}
	meta := object{}
	if given, ok := o["_meta"].(object); ok {
		meta = maps.Clone(given)
	}
	meta[relatedTask] = object{"taskId": id}
	o["_meta"] = meta
	return o
}

// A taskTable contains the tasks of a session; requests of other sessions don't find them.
type taskTable struct {
	mu      sync.Mutex
	created int
	tasks   []*task // oldest first
}

// createTask adds a task with an id that can't be guessed. It returns an error if the session
// already has maxTasks tasks.
func (s *Session) createTask(ttl time.Duration, message string) (*task, *Error) {
	s.tasks.mu.Lock()
	defer s.tasks.mu.Unlock()
	s.tasks.removeExpired()
	if len(s.tasks.tasks) >= maxTasks {
		return nil, &Error{Code: spec.CodeInternal, Message: "Too many tasks at once"}
	}
	s.tasks.created++
	now := time.Now()
	t := &task{
		id: rand.Text(), number: s.tasks.created, created: now, updated: now, ttl: ttl,
		session: s, done: make(chan struct{}), status: taskWorking, message: message,
	}
	s.tasks.tasks = append(s.tasks.tasks, t)
	return t, nil
}

// removeExpired removes the tasks whose ttl has passed. It need not stop their executions, because
// the context of each execution ends with the ttl. The caller holds mu.
func (t *taskTable) removeExpired() {
	t.tasks = slices.DeleteFunc(t.tasks, func(t *task) bool { return time.Since(t.created) >= t.ttl })
}

// createdAfter returns the tasks that have not expired and whose number is higher than the given
// one, oldest first.
func (t *taskTable) createdAfter(number int) []*task {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.removeExpired()
	i := slices.IndexFunc(t.tasks, func(t *task) bool { return t.number > number })
	if i < 0 {
		return nil
	}
	return slices.Clone(t.tasks[i:])
}

// find returns the task with the given id, or nil if no task has this id or the task has expired.
func (t *taskTable) find(id string) *task {
	for _, candidate := range t.createdAfter(0) {
		if candidate.id == id {
			return candidate
		}
	}
	return nil
}
