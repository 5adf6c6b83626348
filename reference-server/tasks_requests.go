package refserver

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// Values of a tool's taskSupport. If it is absent, tasks are forbidden.
const (
	taskForbidden = "forbidden"
	taskOptional  = "optional"
	taskRequired  = "required"
)

func taskCapability() object {
	return object{"list": object{}, "cancel": object{}, "requests": object{"tools": object{"call": object{}}}}
}

// runsAsTask reports whether a call of the tool runs as a task. It returns an error if the call
// asks for a task and the tool forbids tasks, or if the call does not ask for a task and the tool
// requires one. Revisions without tasks ignore the member task.
func (c *Call) runsAsTask(t *tool, f fields) (bool, *Error) {
	if !c.Session.options.hasTasks(c.Revision) {
		return false, nil
	}
	_, wanted := f["task"]
	switch {
	case wanted && t.tasks != taskOptional && t.tasks != taskRequired:
		return false, &Error{Code: spec.CodeMethodNotFound, Message: "The tool " + t.name + " can't be called as a task"}
	case !wanted && t.tasks == taskRequired:
		return false, &Error{Code: spec.CodeMethodNotFound, Message: "The tool " + t.name + " can only be called as a task"}
	}
	return wanted, nil
}

// startTask returns a new task as the result of the call. The execution starts after the response
// has been sent, so that the notifications of the execution can't precede the response.
func (c *Call) startTask(f fields, run func(*Call) (any, *Error)) (any, *Error) {
	ttl, err := f.requestedTTL()
	if err != nil {
		return nil, err
	}
	s := c.Session
	t, err := s.createTask(ttl, "The call has begun.")
	if err != nil {
		return nil, err
	}
	// The execution continues after the request, until the session or the ttl ends.
	execution := *c
	execution.task = t
	execution.ctx, execution.cancel = context.WithDeadlineCause(s.ctx, t.created.Add(ttl), errExpired)
	t.stop = execution.cancel
	c.afterResponse = func() {
		s.Go(func(context.Context) {
			defer execution.cancel()
			result, err := run(&execution)
			if s.ctx.Err() == nil { // at the end of the session there is no client to notify
				t.finish(result, err)
			}
		})
	}
	return object{"task": t.object()}, nil
}

// requestedTTL returns the ttl that the client requests, within the server's limits.
// The server may choose another ttl, but must return it in the task.
func (f fields) requestedTTL() (time.Duration, *Error) {
	members, err := f.optionalObject("task")
	if err != nil {
		return 0, err
	}
	raw, given := members["ttl"]
	if !given {
		return defaultTTL, nil
	}
	milliseconds, isNumber := parseNumber(raw)
	if !isNumber || milliseconds < 0 {
		return 0, invalidParams("task.ttl must be a number of milliseconds")
	}
	return time.Duration(max(minTTL.Seconds(), min(milliseconds/1000, maxTTL.Seconds())) * float64(time.Second)), nil
}

// finish ends the task with the outcome of its execution. Both isError and a JSON-RPC
// error set the status to failed.
func (t *task) finish(result any, err *Error) {
	o, _ := result.(object)
	switch {
	case err != nil:
		t.setTerminal(taskFailed, err.Message, nil, err)
	case o["isError"] == true:
		message := "The tool has failed."
		if blocks, _ := o["content"].([]object); len(blocks) > 0 {
			if text, ok := blocks[0]["text"].(string); ok {
				message = text
			}
		}
		t.setTerminal(taskFailed, message, result, nil)
	default:
		t.setTerminal(taskCompleted, "tasks/result returns the result.", result, nil)
	}
}

// requestedTask returns the task that taskId names; related-task metadata in the request is
// ignored.
func (c *Call) requestedTask() (*task, *Error) {
	id, err := c.fields().requiredString("taskId")
	if err != nil {
		return nil, err
	}
	t := c.Session.tasks.find(id)
	if t == nil {
		return nil, invalidParams("no task has this id; it may have expired")
	}
	return t, nil
}

func (c *Call) tasksGet() (any, *Error) {
	t, err := c.requestedTask()
	if err != nil {
		return nil, err
	}
	return t.object(), nil
}

// tasksResult waits for the end of the task and returns the outcome of its call, with related-task
// metadata in the result.
func (c *Call) tasksResult() (any, *Error) {
	t, err := c.requestedTask()
	if err != nil {
		return nil, err
	}
	select {
	case <-t.done:
	case <-c.ctx.Done():
		return nil, NoResponse
	}
	if t.err != nil {
		return nil, t.err
	}
	return withTask(t.result, t.id), nil
}

// tasksCancel sets the status of the task to cancelled before it returns, and cancels the
// execution, whose outcome is discarded. It returns an error if the task has already ended.
func (c *Call) tasksCancel() (any, *Error) {
	t, err := c.requestedTask()
	if err != nil {
		return nil, err
	}
	if !t.setTerminal(taskCancelled, "The client has cancelled the task.", errorResult("The task was cancelled."), nil) {
		return nil, invalidParams("the task has already ended, so it can't be cancelled")
	}
	t.stop()
	return t.object(), nil
}

// tasksList lists the tasks, oldest first. A cursor contains the number of the last
// listed task, not a position, because expired tasks change the positions.
func (c *Call) tasksList() (any, *Error) {
	last := 0
	if raw, given := c.fields()["cursor"]; given {
		var err *Error
		if last, err = c.cursorPosition(raw); err != nil {
			return nil, err
		}
	}
	tasks := c.Session.tasks.createdAfter(last)
	result, page := object{}, []object{}
	size := c.Session.options.pageEnd(last) - last
	for i, t := range tasks {
		if i == size {
			result["nextCursor"] = c.newCursor(tasks[i-1].number)
			break
		}
		page = append(page, t.object())
	}
	result["tasks"] = page
	return result, nil
}
