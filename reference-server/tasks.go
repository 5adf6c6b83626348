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

// hasTasks reports whether there are tasks. They are an experiment of one
// revision: elsewhere nothing shows of them.
func (o *Options) hasTasks(r spec.Revision) bool { return r == spec.V20251125 && !o.NoSessions }

// The statuses of a task. The last three are terminal: nothing follows them.
const (
	taskWorking       = "working"
	taskInputRequired = "input_required"
	taskCompleted     = "completed"
	taskFailed        = "failed"
	taskCancelled     = "cancelled"
)

// How long a task is kept, from its creation, and how often it may be asked for.
const (
	minTTL       = time.Second // else it would be gone before it could be asked for
	standardTTL  = 5 * time.Minute
	maxTTL       = 15 * time.Minute
	pollInterval = 20 * time.Millisecond
	maxTasks     = 1024 // kept at once
)

var errExpired = errors.New("the ttl of the task is over")

// task is a tool call that goes on after its request was answered.
type task struct {
	id      string
	number  int // in the order of creation, from 1
	created time.Time
	ttl     time.Duration
	session *Session
	stop    context.CancelFunc // ends the execution
	over    chan struct{}      // closed once the status is terminal

	// mu is held while the client is told of the task, so that it hears of
	// changes in their order and of nothing after the terminal status.
	mu      sync.Mutex
	status  string
	message string
	updated time.Time
	result  any    // what the call returned
	err     *Error // or the error it ended with
}

// object describes the task as the client sees it.
func (t *task) object() object {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.describe()
}

func (t *task) describe() object {
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

func (t *task) isOver() bool {
	return t.status == taskCompleted || t.status == taskFailed || t.status == taskCancelled
}

// move changes to a status that is not terminal, unless the task is over.
func (t *task) move(status, message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.isOver() {
		t.set(status, message)
	}
}

// end changes to a terminal status, with what tasks/result returns from then
// on. A task ends once: later ends, such as that of an execution that was
// cancelled, change nothing, and end tells so.
func (t *task) end(status, message string, result any, err *Error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isOver() {
		return false
	}
	t.result, t.err = result, err
	t.set(status, message)
	close(t.over)
	return true
}

// set changes the status and tells the client, with the whole task and
// without related-task, as the task's id is there already.
func (t *task) set(status, message string) {
	t.status, t.message, t.updated = status, message, time.Now()
	t.session.notify(wire.ID{}, spec.MethodTasksStatus, t.describe())
}

// notify sends what belongs to the execution, as long as that goes on.
func (t *task) notify(method string, params any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.isOver() {
		t.session.notify(wire.ID{}, method, withTask(params, t.id))
	}
}

// ask asks the client on behalf of the execution. Meanwhile the task needs input.
func (t *task) ask(ctx context.Context, method string, params any) (jsontext.Value, error) {
	t.move(taskInputRequired, "Waiting for the client's answer to "+method+".")
	defer t.move(taskWorking, "")
	return t.session.ask(ctx, wire.ID{}, t.id, method, params)
}

const relatedTask = "io.modelcontextprotocol/related-task"

// withTask adds to params or to a result which task they belong to, if any.
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

// taskTable holds the tasks of a session. They are the client's alone, as the
// session is.
type taskTable struct {
	mu   sync.Mutex
	made int
	kept []*task // oldest first
}

// create enters a new task, or says that there are too many. Nothing
// restricts who may ask for a task but that nobody can guess its id.
func (s *Session) createTask(ttl time.Duration, message string) (*task, *Error) {
	s.tasks.mu.Lock()
	defer s.tasks.mu.Unlock()
	s.tasks.expire()
	if len(s.tasks.kept) >= maxTasks {
		return nil, &Error{Code: spec.CodeInternal, Message: "Too many tasks at once"}
	}
	s.tasks.made++
	now := time.Now()
	t := &task{
		id: rand.Text(), number: s.tasks.made, created: now, updated: now, ttl: ttl,
		session: s, over: make(chan struct{}), status: taskWorking, message: message,
	}
	s.tasks.kept = append(s.tasks.kept, t)
	return t, nil
}

// expire forgets the tasks whose ttl is over. Their execution ends by itself then.
func (t *taskTable) expire() {
	t.kept = slices.DeleteFunc(t.kept, func(t *task) bool { return time.Since(t.created) >= t.ttl })
}

// after returns the tasks that were created after the one of that number.
func (t *taskTable) after(number int) []*task {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire()
	i := slices.IndexFunc(t.kept, func(t *task) bool { return t.number > number })
	if i < 0 {
		return nil
	}
	return slices.Clone(t.kept[i:])
}

// find returns the task of that id, nil where there is none (any more).
func (t *taskTable) find(id string) *task {
	for _, candidate := range t.after(0) {
		if candidate.id == id {
			return candidate
		}
	}
	return nil
}
