package refserver

import (
	"context"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// Values of a tool's taskSupport; an absent one means forbidden.
const (
	taskForbidden = "forbidden"
	taskOptional  = "optional"
	taskRequired  = "required"
)

func taskCapability() object {
	return object{"list": object{}, "cancel": object{}, "requests": object{"tools": object{"call": object{}}}}
}

// asTask reports whether a call of the tool is to become a task, or why it is
// refused. Revisions without tasks know no such member and ignore it.
func (c *Call) asTask(t *tool, f fields) (bool, *Error) {
	if !c.Session.o.hasTasks(c.Revision) {
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

// startTask answers a call at once with a task, which begins to run when the
// answer is on its way: the client hears of a task before it hears from it.
func (c *Call) startTask(f fields, run func(*Call) (any, *Error)) (any, *Error) {
	ttl, err := f.ttl()
	if err != nil {
		return nil, err
	}
	s := c.Session
	t, err := s.createTask(ttl, "The call has begun.")
	if err != nil {
		return nil, err
	}
	// The execution outlives the request, and neither the session nor the ttl.
	execution := *c
	execution.task = t
	execution.ctx, execution.cancel = context.WithDeadlineCause(s.ctx, t.created.Add(ttl), errExpired)
	t.stop = execution.cancel
	c.then = func() {
		s.Go(func(context.Context) {
			defer execution.cancel()
			result, err := run(&execution)
			if s.ctx.Err() == nil { // nobody is told of what ends because the session does
				t.finish(result, err)
			}
		})
	}
	return object{"task": t.object()}, nil
}

// ttl returns how long the client wants a task to be kept, within bounds: the
// server may choose another time, but has to say so.
func (f fields) ttl() (time.Duration, *Error) {
	members, err := f.object("task")
	if err != nil {
		return 0, err
	}
	raw, given := members["ttl"]
	if !given {
		return standardTTL, nil
	}
	milliseconds, isNumber := number(raw)
	if !isNumber || milliseconds < 0 {
		return 0, invalidParams("task.ttl must be a number of milliseconds")
	}
	return time.Duration(max(minTTL.Seconds(), min(milliseconds/1000, maxTTL.Seconds())) * float64(time.Second)), nil
}

// finish ends the task with what the execution returned. A tool that says
// isError has failed as much as one whose call ends with an error.
func (t *task) finish(result any, err *Error) {
	o, _ := result.(object)
	switch {
	case err != nil:
		t.end(taskFailed, err.Message, nil, err)
	case o["isError"] == true:
		message := "The tool has failed."
		if blocks, _ := o["content"].([]object); len(blocks) > 0 {
			if text, ok := blocks[0]["text"].(string); ok {
				message = text
			}
		}
		t.end(taskFailed, message, result, nil)
	default:
		t.end(taskCompleted, "The result can be had by tasks/result.", result, nil)
	}
}

// namedTask returns the task that the request is about: taskId alone says
// which, whatever related-task may say.
func (c *Call) namedTask() (*task, *Error) {
	id, err := c.fields().text("taskId")
	if err != nil {
		return nil, err
	}
	t := c.Session.tasks.find(id)
	if t == nil {
		return nil, invalidParams("there is no task with this id, or not any more")
	}
	return t, nil
}

func (c *Call) tasksGet() (any, *Error) {
	t, err := c.namedTask()
	if err != nil {
		return nil, err
	}
	return t.object(), nil
}

// tasksResult waits for the end of the task and answers as the call would
// have been answered, but that a result names the task.
func (c *Call) tasksResult() (any, *Error) {
	t, err := c.namedTask()
	if err != nil {
		return nil, err
	}
	select {
	case <-t.over:
	case <-c.ctx.Done():
		return nil, Unanswered
	}
	if t.err != nil {
		return nil, t.err
	}
	return withTask(t.result, t.id), nil
}

// tasksCancel ends the task before it answers. The execution is told to stop;
// its outcome is not reported any more.
func (c *Call) tasksCancel() (any, *Error) {
	t, err := c.namedTask()
	if err != nil {
		return nil, err
	}
	if !t.end(taskCancelled, "The client has cancelled the task.", failed("The task was cancelled."), nil) {
		return nil, invalidParams("the task can't be cancelled, as it is over")
	}
	t.stop()
	return t.object(), nil
}

// tasksList lists the tasks, oldest first. A cursor names the last task that
// was listed, not a place in the list: expired tasks leave it at its front.
func (c *Call) tasksList() (any, *Error) {
	last := 0
	if raw, given := c.fields()["cursor"]; given {
		var err *Error
		if last, err = c.position(raw); err != nil {
			return nil, err
		}
	}
	tasks := c.Session.tasks.after(last)
	result, page := object{}, []object{}
	size := c.Session.o.pageEnd(last) - last
	for i, t := range tasks {
		if i == size {
			result["nextCursor"] = c.cursor(tasks[i-1].number)
			break
		}
		page = append(page, t.object())
	}
	result["tasks"] = page
	return result, nil
}
