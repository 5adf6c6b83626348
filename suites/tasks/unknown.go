package tasks

import (
	"context"
	"errors"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// inventedID is neither the id of a task nor the cursor of a page.
const inventedID = "mcp-conform-no-such-task"

func useUnknownTasks(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	methods := []string{spec.MethodTasksGet, spec.MethodTasksResult}
	if c.Server().Declares("tasks.cancel") {
		methods = append(methods, spec.MethodTasksCancel)
	} else {
		c.Do(ctx, spec.MethodTasksCancel, object{"taskId": inventedID})
	}
	control := t.OrdinaryRequest("")
	if c.Server().Declares("tasks.list") {
		control = suite.Request{Method: spec.MethodTasksList}
	}
	for _, method := range methods {
		for _, id := range []any{inventedID, "", 7} {
			for o := range t.Probe(ctx, c, suite.Probe{Control: control, Odd: suite.OddParams(method, object{"taskId": id}), ByName: true, Limit: callTime}) {
				judgeUnknown(ctx, t, c, o, method, id)
				if !o.Answered() {
					return
				}
			}
		}
	}
	c.Do(ctx, spec.MethodTasksList, nil)
	if c.Server().Declares("tasks.list") {
		c.Do(ctx, spec.MethodTasksList, object{"cursor": inventedID})
	}
	for _, method := range []string{c.HarmlessMethod(), spec.MethodToolsList, spec.MethodPromptsList, spec.MethodResourcesList} {
		c.Do(ctx, method, object{"task": object{"ttl": ttl}})
	}
}

// judgeUnknown judges the response about a task that does not exist. Rules judge errors; only the
// case knows that a result is wrong.
func judgeUnknown(ctx context.Context, t *suite.T, c *client.Conversation, r suite.OddReply, method string, id any) {
	d := verdict.Deviation{
		Requirement: unknownID,
		Permitted:   "an error with code -32602",
		Seen:        suite.Describe(r.Reply),
		At:          transcript.Positions(r.Sent, r.Event),
	}
	switch {
	case r.Succeeded() && id == inventedID:
		d.Summary = "The server answers an invented taskId with a result."
		t.Report(c, d)
	case r.Busy(), r.Succeeded(): // what a server does with an illegal id is not judged
	case r.Answered():
		if t.CanInterpret(r, unknownID) {
			t.MarkKept(unknownID)
		}
	case errors.Is(r.Err, client.ErrUnanswered) && method == spec.MethodTasksResult && ctx.Err() == nil && c.Fence(ctx) == nil:
		d.Summary = "tasks/result is not answered for a task id that was made up."
		d.Seen += ", though a later request was answered"
		t.Report(c, d)
	}
}

// useUndeclared calls the first suitable tools: each without a task, as a task, and without one
// again.
func useUndeclared(ctx context.Context, t *suite.T) {
	c := t.Conversation(ctx)
	if c.Server().Declares(toolCalls) {
		t.Skip("the server declares " + toolCalls)
	}
	var calls []inventory.KnownCall
	for _, tool := range t.Inventory.Callable() {
		if len(calls) == maxPlain {
			break
		}
		if arguments, err := tool.Arguments(); err == nil {
			calls = append(calls, inventory.KnownCall{Tool: tool.Name, Arguments: arguments})
		}
	}
	if len(calls) == 0 {
		t.Skip("mcp-conform can't make arguments for any tool that it may call")
	}
	for _, call := range calls {
		for _, params := range []object{call.Params(), withMember(call.Params(), "task", object{"ttl": ttl}), call.Params()} {
			if !c.Do(ctx, spec.MethodToolsCall, params, client.Within(callTime)).Answered() {
				return
			}
		}
	}
}

func withMember(params object, name string, value any) object {
	params[name] = value
	return params
}
