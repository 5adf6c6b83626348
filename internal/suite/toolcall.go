package suite

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A ToolCall is a call of a tool, with the requests that the server sent to the client during the
// call. In the stateless era these are in results that require input.
type ToolCall struct {
	*client.Reply
	// Took is how long the response took.
	Took time.Duration

	events []*transcript.Event // during the call
}

// HasRequest reports whether the server sent a request with the method during the
// call.
func (n *ToolCall) HasRequest(method string) bool { return n.Request(method) != nil }

// Request returns the first request with the method that the server sent during
// the call, or nil.
func (n *ToolCall) Request(method string) *wire.Message {
	m, _ := n.firstRequest(method)
	return m
}

// Positions returns the positions of the following events, if they exist: the call, the request
// with the method that came during it, the client's response to that request, and the response to
// the call.
func (n *ToolCall) Positions(method string) []int {
	request, e := n.firstRequest(method)
	return transcript.Positions(n.Sent, e, n.responseTo(request), n.Event)
}

// responseTo returns the event of the client's response to a request of the server, or nil.
func (n *ToolCall) responseTo(request *wire.Message) *transcript.Event {
	r := transcript.DialogueOf(n.events).RequestOf(request)
	if r == nil || len(r.Responses) == 0 {
		return nil
	}
	return r.Responses[0].Event
}

// RequestEvent returns the event of the request that Request returns, or nil.
func (n *ToolCall) RequestEvent(method string) *transcript.Event {
	_, e := n.firstRequest(method)
	return e
}

func (n *ToolCall) firstRequest(method string) (*wire.Message, *transcript.Event) {
	for e, m := range transcript.Messages(n.events, transcript.Received) {
		if m.Kind == wire.Request && m.Method == method {
			return m, e
		}
		for _, in := range transcript.InputRequests(m) {
			if in.Method == method {
				return in.Message, e
			}
		}
	}
	return nil, nil
}

// Failed reports whether the response is an error, or a result with isError set to true.
func (n *ToolCall) Failed() bool {
	return n.Answered() && (n.Message.IsError() || string(wire.At(n.Message.Result(), "/isError")) == "true")
}

// HasEndedServer reports whether, over HTTP, the server ended during the call: the
// connection for the response broke, and no server listens any more.
func (n *ToolCall) HasEndedServer(ctx context.Context, c *client.Conversation) bool {
	if n.Sent == nil || n.Answered() {
		return false
	}
	x := transcript.ExchangesOf(n.events).Of(n.Sent)
	return x != nil && x.HowEnded() == transcript.Broken && errors.Is(c.Fence(ctx), client.ErrEnded)
}

// JudgeEnd records the requirement of d as kept if the call got a response and the server did not
// end. It records d as a deviation if the server ended. A call without a response is also a
// deviation if a later request got one, but not if mayTakeLong is set, because then the call may
// still be running. In all other cases it records nothing. It returns true if the call or the later
// request got a response, and the server did not end.
func (n *ToolCall) JudgeEnd(ctx context.Context, t *T, c *client.Conversation, d verdict.Deviation, mayTakeLong bool) bool {
	switch {
	case n.Answered():
		if err := c.Fence(ctx); errors.Is(err, client.ErrEnded) {
			t.Report(c, withEnd(c, d))
			return false
		}
		t.MarkKept(d.Requirement)
	case errors.Is(n.Err, client.ErrEnded), n.HasEndedServer(ctx, c):
		t.Report(c, withEnd(c, d))
		return false
	case errors.Is(n.Err, client.ErrUnanswered):
		if c.Fence(ctx) != nil {
			return false // slow or gone: the outcome is unknown
		}
		if !mayTakeLong {
			t.Report(c, d)
		}
	default:
		return false
	}
	return true
}

// withEnd adds the end of the server's output to the evidence.
func withEnd(c *client.Conversation, d verdict.Deviation) verdict.Deviation {
	d.At = slices.Concat(d.At, LastPosition(c, transcript.OutputClosed))
	return d
}

// Call calls a tool with the arguments that tool.Arguments returns, and waits for the response with
// the option client.Within(limit). It returns nil if no arguments can be made.
func Call(ctx context.Context, c *client.Conversation, tool inventory.Tool, limit time.Duration) *ToolCall {
	arguments, err := tool.Arguments()
	if err != nil {
		return nil
	}
	from := c.Record.Len()
	n := &ToolCall{Reply: c.Do(ctx, spec.MethodToolsCall, map[string]any{"name": tool.Name, "arguments": arguments}, client.Within(limit))}
	n.events = c.Record.From(from)
	if n.Event != nil && n.Sent != nil {
		n.Took = n.Event.At - n.events[0].At
	}
	return n
}

// CallEach calls tools one after the other, as Call does.
func CallEach(ctx context.Context, c *client.Conversation, tools []inventory.Tool, limit time.Duration) {
	for _, tool := range tools {
		Call(ctx, c, tool, limit)
	}
}

// AskingTools returns at most limit tools that seem to send the client the requests of
// this role. It ends the case if there is none.
func AskingTools(t *T, role inventory.Role, limit int) []inventory.Tool {
	tools := t.Inventory.AskingTools(role)
	if len(tools) == 0 {
		t.RequireTool(role)
	}
	return tools[:min(len(tools), limit)]
}
