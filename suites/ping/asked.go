package ping

import (
	"context"
	"fmt"
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

// thinkingTime is how long the server waits for the client's answer while a ping
// lies there. It is a thousand times what a ping takes.
const thinkingTime = 3 * time.Second

// farIDs is the first id of a client whose ids are not those of the server's
// requests: both count for themselves, most of them from 0 or 1 on.
const farIDs = 7001

// whileAsked leaves a request of the server open, as a user does who thinks
// about it, and pings. Whoever waits for an answer by reading nothing but that
// takes the ping for it, or leaves it lying there. One of the pings has the id of
// the server's request, which is none of the client's.
func whileAsked(ctx context.Context, t *suite.T) {
	t.Needs(inventory.AsksRoots, inventory.AsksSampling, inventory.AsksElicitation)
	tool, _ := t.Inventory.Asking()
	var thinks atomic.Bool
	c := t.Start(ctx, client.Options{FirstID: farIDs, Answer: suite.Leaves(&thinks)})
	t.Quiet(ctx, c) // what the server asks of itself at the beginning has come
	thinks.Store(true)
	call, from := c.NewID(), c.Record.Len()
	if err := c.Send(ctx, c.Request(call, spec.MethodToolsCall, tool.Params())); err != nil {
		t.GiveUp("the tool could not be called: " + err.Error())
	}
	question := asks(ctx, c, from, call)
	if question == nil {
		t.GiveUp("the tool did not ask the client")
	}
	at, pings := c.Record.Len(), []wire.ID{c.NewID()}
	if sent(c, 0, question.ID) == nil {
		pings = append(pings, question.ID)
	}
	prompt := make([]bool, len(pings))
	for i, id := range pings {
		if err := c.Send(ctx, c.Request(id, spec.MethodPing, nil)); err != nil {
			t.GiveUp("the ping could not be sent: " + err.Error())
		}
		if prompt[i] = c.ListenFor(ctx, thinkingTime, at, id).Answered(); !prompt[i] {
			pings = pings[:i+1]
			break
		}
	}
	thinks.Store(false)
	_ = c.Send(ctx, suite.Refuse(question))
	for i, id := range pings {
		r := c.ListenFor(ctx, c.Options().Timeout, at, id)
		r.Sent = sent(c, at, id)
		if !prompt[i] && r.Succeeded() {
			d := unanswered(responds, "A ping is answered only when the client has answered what the server asked.", r)
			d.Weight, d.Permitted = verdict.AtMostWarning, "a result at once"
			d.Seen = fmt.Sprintf("no answer in %v while %s was open, and one behind the client's answer to that", thinkingTime, suite.Excerpt(question.Method, 80))
			t.Deviates(c, d)
			return
		}
		if !asked(ctx, t, c, r) {
			return
		}
	}
	c.ListenFor(ctx, c.Options().Timeout, from, call) // the conversation is left with nothing in flight
}

// asks waits for what the server asks in a call, and returns nil where the call
// ends without that.
func asks(ctx context.Context, c *client.Conversation, from int, call wire.ID) *wire.Message {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Options().Timeout, client.ErrUnanswered)
	defer cancel()
	var question *wire.Message
	_, _ = c.Await(ctx, from, func(e *transcript.Event) bool {
		if e.Kind != transcript.Received {
			return false
		}
		for i := range e.Messages() {
			switch m := &e.Messages()[i]; {
			case m.Kind == wire.Request && m.Method != spec.MethodPing:
				question = m
				return true
			case m.Kind == wire.Response && m.ID.Same(call):
				return true
			}
		}
		return false
	})
	return question
}
