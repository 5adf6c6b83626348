package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Duration and number of steps of the slow tool.
const (
	duration = 300 * time.Millisecond
	steps    = 6
	longer   = 2 // factor for the cancelled call
	// The calls are longer than duration by so many of the server's response times, so that the
	// request for the result, or the cancellation, arrives while the task runs.
	beforeResult = 4
	beforeCancel = 6
)

// runSlowTask makes a plain call, a task that it waits for, and a task that it cancels, all
// concurrently, so that together they take no longer than the longest of them.
//
// The cancelled task would run longer than the other one, so that even a slow machine cancels it
// while it runs. The cancelled task is queried again when it would have ended, which an equal call
// without a task shows.
func runSlowTask(ctx context.Context, t *suite.T) {
	t.RequireTool(inventory.Slow)
	if _, ok := findSlowTask(t); !ok {
		t.Skip("the slow tool can't be called both as a task and without one")
	}
	r := startRunner(ctx, t)
	call, _ := t.Inventory.SlowCall(duration+beforeResult*r.c.FastestResponse(), steps)
	plain, from := r.c.NewID(), r.c.Record.Len()
	if err := r.c.Send(ctx, r.c.Request(plain, spec.MethodToolsCall, call.Params())); err != nil {
		t.GiveUp("mcp-conform could not call the tool: " + err.Error())
	}
	ids := r.create(ctx, asTask(call, "waited-for", object{"ttl": ttl}))
	if len(ids) == 0 {
		t.GiveUp("the server did not run the call as a task")
	}
	r.getStatus(ctx, ids[0]) // at once, to see whether the response came before the work was done
	result := r.c.NewID()
	if err := r.c.Send(ctx, r.c.Request(result, spec.MethodTasksResult, object{"taskId": ids[0]})); err != nil {
		t.GiveUp("mcp-conform could not request the result: " + err.Error())
	}
	long, _ := t.Inventory.SlowCall(longer*duration+beforeCancel*r.c.FastestResponse(), longer*steps)
	ids = append(ids, r.create(ctx, asTask(long, "cancelled", object{"ttl": ttl}))...)
	if r.isAnswered(from, result) {
		r.getStatus(ctx, ids[0]) // at once, to see whether the result came before the work was done
	}
	if len(ids) < 2 {
		t.GiveUp("the server did not run the call as a task")
	}
	r.awaitProgress(ctx, from, "mcp-conform/task/cancelled")
	r.cancel(ctx, t, ids[1])
	whole := r.c.NewID() // a plain call, which shows how long the cancelled task would have run
	if err := r.c.Send(ctx, r.c.Request(whole, spec.MethodToolsCall, long.Params())); err != nil {
		t.GiveUp("mcp-conform could not make the long call: " + err.Error())
	}
	r.awaitResponse(ctx, from, result)
	r.getStatus(ctx, ids[0])
	r.awaitResponse(ctx, from, plain)
	t.AwaitQuiet(ctx, r.c) // by now, late messages of the cancelled task have come
	r.awaitResponse(ctx, from, whole)
	for _, id := range ids {
		r.getStatus(ctx, id)
	}
}

// isAnswered reports whether the response to a request has come.
func (r *runner) isAnswered(from int, id wire.ID) bool {
	return slices.ContainsFunc(r.c.Record.From(from), func(e *transcript.Event) bool {
		return e.ResponseTo(id) != nil
	})
}

// findSlowTask returns a call of a slow tool that runs both as a task and without one.
func findSlowTask(t *suite.T) (inventory.KnownCall, bool) {
	call, ok := t.Inventory.SlowCall(duration, steps)
	if !ok {
		return call, false
	}
	tool, _ := t.Inventory.Tool(call.Tool)
	support, _ := wire.Text(wire.At(tool.Raw, "/execution/taskSupport"))
	return call, support == "optional"
}

// cancel tries to cancel a task with notifications/cancelled, which must not work, and then twice
// with tasks/cancel.
func (r *runner) cancel(ctx context.Context, t *suite.T, id string) {
	if request := r.creatingRequest(id); request != "" {
		_ = r.c.Notify(ctx, spec.MethodCancelled, object{"requestId": json.RawMessage(request), "reason": "tasks are cancelled otherwise"})
		t.Fence(ctx, r.c)
		r.getStatus(ctx, id)
	}
	if !t.Inventory.Declares("tasks.cancel") {
		t.MarkNotApplicable(resultAfterCancel, "the server does not declare tasks.cancel")
		return
	}
	if r.request(ctx, spec.MethodTasksCancel, id).Succeeded() {
		r.getStatus(ctx, id)
		r.requestResultAfterCancel(ctx, t, id)
	}
	r.request(ctx, spec.MethodTasksCancel, id)
}

// creatingRequest returns the id of the request that created the task, or "" if none is known.
func (r *runner) creatingRequest(id string) string {
	for _, m := range transcript.Messages(r.c.Record.From(0), transcript.Received) {
		if found, ok := wire.Text(wire.At(m.Result(), "/task/taskId")); ok && found == id {
			return m.ID.Raw()
		}
	}
	return ""
}

// requestResultAfterCancel requests the result of a cancelled task. Any response is permitted, but
// it must come.
func (r *runner) requestResultAfterCancel(ctx context.Context, t *suite.T, id string) {
	reply := r.request(ctx, spec.MethodTasksResult, id)
	switch {
	case reply.Answered():
		t.MarkKept(resultAfterCancel)
	case errors.Is(reply.Err, client.ErrUnanswered) && ctx.Err() == nil && r.c.Fence(ctx) == nil:
		t.Report(r.c, verdict.Deviation{
			Requirement: resultAfterCancel,
			Summary:     "The server does not answer tasks/result of a cancelled task.",
			Permitted:   "a result or an error",
			Seen:        suite.Describe(reply),
			At:          transcript.Positions(reply.Sent),
		})
	default:
		t.MarkNotObserved(resultAfterCancel, "mcp-conform could not wait for the result")
	}
}

// awaitProgress waits until progress shows that the task runs. Only then can it be seen to stop.
func (r *runner) awaitProgress(ctx context.Context, from int, token string) {
	_, _ = r.c.Await(ctx, from, func(e *transcript.Event) bool {
		for i := range e.Messages() {
			m := &e.Frame.Messages[i]
			named, _ := wire.Text(wire.At(m.Params(), "/progressToken"))
			if e.Kind == transcript.Received && m.Method == spec.MethodProgress && named == token {
				return true
			}
		}
		return false
	}, client.Within(duration/2))
}

// awaitResponse waits for the response to a request that was sent at or after the given position.
func (r *runner) awaitResponse(ctx context.Context, from int, id wire.ID) {
	r.c.AwaitResponse(ctx, from, id, client.Within(callTime))
}
