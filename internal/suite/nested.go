package suite

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// Nested is a call of a tool during which the server may ask the client.
type Nested struct {
	*client.Reply
	// Took is how long the answer took.
	Took time.Duration

	events []*transcript.Event // during the call
}

// HasRequest reports whether a request for the method came during the call.
func (n *Nested) HasRequest(method string) bool { return n.Request(method) != nil }

// Request returns the first request for the method that came during the call,
// or nil.
func (n *Nested) Request(method string) *wire.Message {
	m, _ := n.first(method)
	return m
}

// Positions returns where the call, the request for the method that came during
// it, and the answer stand in the record, as far as there are any.
func (n *Nested) Positions(method string) []int {
	return transcript.Positions(n.Sent, n.At(method), n.Event)
}

// At returns the event with that request, or nil.
func (n *Nested) At(method string) *transcript.Event {
	_, e := n.first(method)
	return e
}

func (n *Nested) first(method string) (*wire.Message, *transcript.Event) {
	for e, m := range transcript.Messages(n.events, transcript.Received) {
		if m.Kind == wire.Request && m.Method == method {
			return m, e
		}
	}
	return nil, nil
}

// Failed reports whether the answer is an error, or the result of a tool that
// says that it failed.
func (n *Nested) Failed() bool {
	return n.Answered() && (n.Message.IsError() || string(wire.At(n.Message.Result(), "/isError")) == "true")
}

// EndedServer reports whether over HTTP the server ended in the midst of the call: the
// connection broke on which the answer was to come, and nobody listens any more.
func (n *Nested) EndedServer(ctx context.Context, c *client.Conversation) bool {
	if n.Sent == nil || n.Answered() {
		return false
	}
	x := transcript.ExchangesOf(n.events).Of(n.Sent)
	return x != nil && x.Ended() == transcript.Broken && errors.Is(c.Fence(ctx), client.ErrEnded)
}

// Call calls a tool with the least arguments that its schema permits, and
// waits for the answer as long as limit. It returns nil for a tool for which
// no arguments can be made.
func Call(ctx context.Context, c *client.Conversation, tool inventory.Tool, limit time.Duration) *Nested {
	arguments, err := tool.Arguments()
	if err != nil {
		return nil
	}
	from := c.Record.Len()
	n := &Nested{Reply: c.Do(ctx, spec.MethodToolsCall, map[string]any{"name": tool.Name, "arguments": arguments}, client.Within(limit))}
	if n.Event != nil && n.Sent != nil {
		n.Took = n.Event.At - n.Sent.At
	}
	n.events = c.Record.From(from)
	return n
}

// CallEach calls tools one after the other, as Call does.
func CallEach(ctx context.Context, c *client.Conversation, tools []inventory.Tool, limit time.Duration) {
	for _, tool := range tools {
		Call(ctx, c, tool, limit)
	}
}

// AskingTools returns the tools that seem to ask the client about the topic, at most
// so many. It ends the case where there is none.
func AskingTools(t *T, topic inventory.Role, most int) []inventory.Tool {
	tools := t.Inventory.Askers(topic)
	if len(tools) == 0 {
		t.Needs(topic)
	}
	return tools[:min(len(tools), most)]
}
