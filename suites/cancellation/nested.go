package cancellation

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// cancelAskingCall makes two calls during which the server sends requests to the client. It
// responds to the server's request in one call, so that this call can end, and cancels the other
// call. After the server had time to cancel its own request in the other call, cancelAskingCall
// responds to that request too. It cancels a call of each other kind of asking tool in the same
// way. Then the first tool has to work again.
func cancelAskingCall(ctx context.Context, t *suite.T) {
	t.RequireTool(inventory.AsksRoots, inventory.AsksSampling, inventory.AsksElicitation)
	tool, _ := t.Inventory.AskingCall()
	var open atomic.Bool
	open.Store(true)
	c := t.Start(ctx, client.Options{Answer: suite.LeaveOpen(&open)})
	t.AwaitQuiet(ctx, c) // by now, requests that the server sends on its own at the start have come
	calls, from := []wire.ID{c.NewID(), c.NewID()}, c.Record.Len()
	asked := awaitServerRequests(ctx, t, c, calls, tool.Params(), tool.Params())
	if len(asked) == 0 {
		t.GiveUp("the tool sent the client no request")
	}
	last := calls[0]
	if len(asked) > 1 {
		_ = c.Send(ctx, suite.RefusalOf(asked[1]))
		last = awaitOneOf(ctx, c, from, calls)
	}
	if c.Cancel(ctx, last, "the case wants to see what becomes of the request in it") != nil {
		t.GiveUp("mcp-conform could not send the cancellation")
	}
	awaitCancellations(ctx, c, from, asked[:1])
	t.AwaitQuiet(ctx, c)
	_ = c.Send(ctx, suite.RefusalOf(asked[0]))
	if r := c.Do(ctx, c.HarmlessMethod(), nil); !r.Answered() {
		suite.HasEnded(ctx, c, r.Err)
		return
	}
	cancelOtherAskingCalls(ctx, t, c, tool.Tool)
	open.Store(false)
	repeatCall(ctx, t, c, tool)
}

// cancelOtherAskingCalls concurrently calls one tool for each kind of request, but not the tool
// with the given name. It cancels all of the calls, and then refuses the requests that the server
// sent in them. It ends the case if the server then no longer answers.
func cancelOtherAskingCalls(ctx context.Context, t *suite.T, c *client.Conversation, but string) {
	var ids []wire.ID
	var params []map[string]any
	for _, role := range []inventory.Role{inventory.AsksSampling, inventory.AsksElicitation, inventory.AsksRoots} {
		for _, tool := range t.Inventory.AskingTools(role) {
			if arguments, err := tool.Arguments(); err == nil && tool.Name != but {
				ids, params = append(ids, c.NewID()), append(params, map[string]any{"name": tool.Name, "arguments": arguments})
				break
			}
		}
	}
	if len(ids) == 0 {
		return
	}
	from := c.Record.Len()
	asked := awaitServerRequests(ctx, t, c, ids, params...)
	for _, id := range ids {
		_ = c.Cancel(ctx, id, "the case wants to see what becomes of the request in it")
	}
	awaitCancellations(ctx, c, from, asked)
	t.AwaitQuiet(ctx, c)
	for _, m := range asked {
		_ = c.Send(ctx, suite.RefusalOf(m))
	}
	if r := c.Do(ctx, c.HarmlessMethod(), nil); !r.Answered() {
		suite.HasEnded(ctx, c, r.Err)
		t.GiveUp("the server no longer answers")
	}
}

// againTime is how long a call may take if the client refuses the request of its tool at once. A
// call that takes longer is compared with one on another server.
const againTime = 3 * time.Second

// repeatCall calls the tool once more, and refuses the request that the server sends in the call.
// If the call does not end, it is repeated on a fresh server on which nothing was cancelled. If the
// call on the fresh server ends, the client waits for the first call again, for the timeout of
// ordinary requests, because the machine may have been busy.
func repeatCall(ctx context.Context, t *suite.T, c *client.Conversation, tool inventory.KnownCall) {
	id, from := c.NewID(), c.Record.Len()
	if c.Send(ctx, c.Request(id, spec.MethodToolsCall, tool.Params())) != nil {
		t.GiveUp("mcp-conform could not call the tool again")
	}
	if c.AwaitResponse(ctx, from, id, client.Within(againTime)).Answered() {
		t.MarkKept(raceHandled)
		return
	}
	if ctx.Err() != nil || !c.Alive() {
		t.GiveUp("mcp-conform could not wait for the end of the call")
	}
	fresh := t.StartFresh(ctx, client.Options{Answer: suite.RefusalOf})
	if !fresh.Do(ctx, spec.MethodToolsCall, tool.Params(), client.Within(againTime)).Answered() {
		t.GiveUp("the call does not end without a cancellation, either")
	}
	if c.AwaitResponse(ctx, from, id, client.Within(c.Options().Timeout)).Answered() {
		t.MarkKept(raceHandled)
		return
	}
	if ctx.Err() != nil || !c.Alive() {
		t.GiveUp("mcp-conform could not wait for the end of the call")
	}
	_ = c.Cancel(ctx, id, transcript.OverdueReason)
	t.Report(c, verdict.Deviation{
		Requirement: raceHandled,
		Summary:     "The server drops a call when another call, which asks the client, is cancelled.",
		Permitted:   "a response, as without the cancellation",
		Seen:        "no response, although mcp-conform waited longer than the call takes on another server",
		At:          transcript.Positions(c.RequestSent(from, id)),
	})
}

// awaitServerRequests makes the calls and returns the first requests of the server, at most one for
// each call. It may return fewer, because a call may end without a request, and a server may
// process calls one by one.
func awaitServerRequests(ctx context.Context, t *suite.T, c *client.Conversation, calls []wire.ID, params ...map[string]any) []*wire.Message {
	var frames [][]byte
	for i, id := range calls {
		frames = append(frames, c.Request(id, spec.MethodToolsCall, params[i]))
	}
	from := c.Record.Len()
	if err := c.Send(ctx, frames...); err != nil {
		t.GiveUp("mcp-conform could not call the tool: " + err.Error())
	}
	var asked []*wire.Message
	ended := 0
	awaitBeforeFence(ctx, c, from, func(e *transcript.Event) bool {
		if e.Kind != transcript.Received {
			return false
		}
		for i := range e.Messages() {
			switch m := &e.Messages()[i]; {
			case m.Kind == wire.Request && m.Method != spec.MethodPing && len(asked) < len(calls):
				asked = append(asked, m)
			case m.Kind == wire.Response && slices.ContainsFunc(calls, m.ID.Same):
				ended++
			}
		}
		return len(asked)+ended >= len(calls)
	})
	return asked
}

// awaitBeforeFence waits until match is true for an event. It sends a fence only if that takes
// longer than the grace: a server that mistakes a ping for the response to its request must not get
// one by chance before or after it sends the request. match is called once for each event.
func awaitBeforeFence(ctx context.Context, c *client.Conversation, from int, match func(*transcript.Event) bool) {
	_, err := c.Await(ctx, from, func(e *transcript.Event) bool {
		from = e.Seq + 1
		return match(e)
	}, client.Within(c.Grace()))
	if errors.Is(err, client.ErrUnanswered) {
		_, _ = c.Await(ctx, from, match, client.MayIgnore)
	}
}

// awaitCancellations waits, at most for the grace, until the server has cancelled these requests,
// for the same reason as awaitBeforeFence.
func awaitCancellations(ctx context.Context, c *client.Conversation, from int, asked []*wire.Message) {
	left := len(asked)
	if left == 0 {
		return
	}
	_, _ = c.Await(ctx, from, func(e *transcript.Event) bool {
		if e.Kind != transcript.Received {
			return false
		}
		for i := range e.Messages() {
			m := &e.Messages()[i]
			if m.Kind == wire.Notification && m.Method == spec.MethodCancelled && slices.ContainsFunc(asked, func(q *wire.Message) bool { return q.ID.Same(m.ParamIDAt("/requestId")) }) {
				left--
			}
		}
		return left == 0
	}, client.Within(c.Grace()))
}

// awaitOneOf waits until one of the two calls has ended, and returns the id of the other. If
// neither ends in time, it returns the id of the first.
func awaitOneOf(ctx context.Context, c *client.Conversation, from int, calls []wire.ID) wire.ID {
	ended, err := c.Await(ctx, from, func(e *transcript.Event) bool {
		return e.ResponseTo(calls[0]) != nil || e.ResponseTo(calls[1]) != nil
	}, client.Within(0))
	if err == nil && ended.ResponseTo(calls[0]) != nil {
		return calls[1]
	}
	return calls[0]
}
