package tasks

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

func runTaskLives(ctx context.Context, t *suite.T) {
	run, refuse, require, optional := toolsByTaskSupport(t)
	if len(run)+len(refuse) == 0 {
		t.Skip("mcp-conform can't make arguments for any tool that it may call")
	}
	r := startRunner(ctx, t)
	for i, call := range refuse {
		for range t.Probe(ctx, r.c, suite.Probe{
			Control: suite.Request{Method: spec.MethodToolsCall, Params: call.Params()}, ByName: true, Limit: callTime,
			Odd: suite.OddParams(spec.MethodToolsCall, asTask(call, "refused-"+strconv.Itoa(i), object{"ttl": ttl})),
		}) { // rules judge the responses
		}
	}
	for _, call := range require {
		r.c.Do(ctx, spec.MethodToolsCall, call.Params(), client.Within(callTime))
	}
	if len(run) == 0 {
		return
	}
	both := firstN(callsWithOptionalTasks(run, optional), maxPlain)
	r.callWithoutTask(ctx, both)
	ids := r.createTasksAwaitingInput(ctx, run)
	if len(ids) == 0 {
		return
	}
	r.awaitResults(ctx, ids)
	r.requestUnusually(ctx, t, ids)
	r.callWithoutTask(ctx, both)
	r.cancelAtOnce(ctx, run[len(run)-1])
	r.createWithHugeTTL(ctx, run[0])
}

// createWithHugeTTL requests a task with a ttl of a hundred years, but only from a server that ends
// with the run, because any other server might keep the task.
func (r *runner) createWithHugeTTL(ctx context.Context, call inventory.KnownCall) {
	if !suite.IsStartedByRun(r.c) {
		return
	}
	for _, id := range r.create(ctx, asTask(call, "for-generations", object{"ttl": int64(centuryTTL)})) {
		r.request(ctx, spec.MethodTasksCancel, id)
	}
}

func callsWithOptionalTasks(run []inventory.KnownCall, optional map[string]bool) []inventory.KnownCall {
	var out []inventory.KnownCall
	for _, call := range run {
		if optional[call.Tool] {
			out = append(out, call)
		}
	}
	return out
}

// callWithoutTask makes the calls without a task, concurrently.
func (r *runner) callWithoutTask(ctx context.Context, calls []inventory.KnownCall) {
	var frames [][]byte
	for _, call := range calls {
		frames = append(frames, r.c.Request(r.c.NewID(), spec.MethodToolsCall, call.Params()))
	}
	if len(frames) > 0 {
		r.c.DoAll(ctx, frames, client.Within(callTime))
	}
}

// createTasksAwaitingInput makes each call as a task. It also makes the first call without a ttl,
// and once more with a taskId, which the client must not choose. The requests that the server sends
// for the tasks get their responses only after the tasks were seen waiting.
func (r *runner) createTasksAwaitingInput(ctx context.Context, run []inventory.KnownCall) []string {
	release := r.holdReplies()
	defer release()
	calls := []object{
		asTask(run[0], "bare", object{}),
		asTask(run[0], "proposed", object{"ttl": ttl, "taskId": "mcp-conform-proposed"}),
	}
	for i, call := range run {
		calls = append(calls, asTask(call, strconv.Itoa(i), object{"ttl": ttl}))
	}
	ids := r.create(ctx, calls...)
	r.watch(ctx, ids)
	return ids
}

// How long tasks are watched before the client responds to the requests that the server sends for
// them, and the minimum interval between queries.
const (
	watchTime     = 100 * time.Millisecond
	leastInterval = 20 * time.Millisecond
)

// watch queries the tasks until each has ended or waits for the client. It stops after watchTime,
// but queries each task that is still working at least twice.
func (r *runner) watch(ctx context.Context, ids []string) {
	began := r.c.Record.Moment()
	for round := 1; ; round++ {
		var busy []string
		for _, id := range ids {
			switch r.getStatus(ctx, id) {
			case "working":
				busy = append(busy, id)
			case "input_required":
				r.getStatus(ctx, id) // by now, the request that the server sends for this task has come
			}
		}
		if len(busy) == 0 || round > 1 && r.c.Record.Since(began)+r.interval > watchTime || ctx.Err() != nil {
			return
		}
		ids = busy
		r.c.Pause(ctx, r.interval)
	}
}

// leaveTime is how long a task may stay in input_required after it got all its input.
const leaveTime = 1100 * time.Millisecond

// awaitResults waits for the results of the tasks, and requests the first result again.
func (r *runner) awaitResults(ctx context.Context, ids []string) {
	began := r.c.Record.Moment()
	for i, id := range ids {
		if r.c.Record.Since(began) > allTime {
			return
		}
		if !r.request(ctx, spec.MethodTasksResult, id).Answered() {
			continue
		}
		if r.getStatus(ctx, id) == "input_required" {
			r.c.Pause(ctx, leaveTime)
			r.getStatus(ctx, id)
		}
		if i == 0 {
			r.request(ctx, spec.MethodTasksResult, id)
		}
	}
}

// requestUnusually requests a task with the metadata of another one, cancels the first task, lists
// all tasks, and then queries each of them.
func (r *runner) requestUnusually(ctx context.Context, t *suite.T, ids []string) {
	if len(ids) > 1 {
		r.mixMetadata(ctx, t, ids[0], ids[1])
	}
	if t.Inventory.Declares("tasks.cancel") {
		r.request(ctx, spec.MethodTasksCancel, ids[0])
	}
	if t.Inventory.Declares("tasks.list") {
		inventory.Walk(ctx, r.c, spec.MethodTasksList, "tasks", maxPages)
	}
	for _, id := range ids {
		r.getStatus(ctx, id)
	}
}

// mixMetadata requests a task with the metadata of another one. A rule judges which task is
// returned. The case judges a missing response, if tasks/get without the metadata succeeds.
func (r *runner) mixMetadata(ctx context.Context, t *suite.T, id, other string) {
	related := object{"io.modelcontextprotocol/related-task": object{"taskId": other}}
	for _, method := range []string{spec.MethodTasksGet, spec.MethodTasksResult} {
		reply := r.c.Do(ctx, method, object{"taskId": id, "_meta": related}, client.Within(callTime))
		switch {
		case reply.Answered():
			t.MarkKept(relatedIgnored)
			continue
		case errors.Is(reply.Err, client.ErrUnanswered) && r.getStatus(ctx, id) != "":
			t.Report(r.c, verdict.Deviation{
				Requirement: relatedIgnored,
				Summary:     "The server does not answer a request whose _meta names another task.",
				Permitted:   "the task that taskId names",
				Seen:        "no answer, while tasks/get without such a _meta was answered afterwards",
				At:          transcript.Positions(reply.Sent),
			})
		}
		return
	}
}

// cancelAtOnce cancels a task that has just begun, or has already ended. If cancellation is not
// declared, rules judge the refusal.
func (r *runner) cancelAtOnce(ctx context.Context, call inventory.KnownCall) {
	for _, id := range r.create(ctx, asTask(call, "cancelled", object{"ttl": ttl})) {
		r.request(ctx, spec.MethodTasksCancel, id)
		r.getStatus(ctx, id)
	}
}
