package ping

import (
	"context"
	"fmt"
	"slices"
	"sync"
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

// pingWhileAsked leaves requests of the server open, as a user does who thinks about
// it, and pings. Whoever waits for an answer by reading nothing but that takes
// the ping for it, or leaves it lying there. Roots, sampling and elicitation are
// tried each, as servers may wait for them in different ways.
func pingWhileAsked(ctx context.Context, t *suite.T) {
	t.Needs(inventory.AsksRoots, inventory.AsksSampling, inventory.AsksElicitation)
	a := &askingConversation{t: t}
	a.c = t.Start(ctx, client.Options{FirstID: farIDs, Answer: a.thinks.answer})
	t.Quiet(ctx, a.c) // what the server asks of itself at the beginning has come
	for _, tool := range askingTools(t.Inventory) {
		if !a.ping(ctx, tool) {
			break
		}
	}
	if !a.tried {
		t.GiveUp("the tool did not ask the client")
	}
}

// askingTools returns a tool for each topic, none of them twice.
func askingTools(v *inventory.Inventory) []inventory.Known {
	var out []inventory.Known
	for _, topic := range []inventory.Role{inventory.AsksRoots, inventory.AsksSampling, inventory.AsksElicitation} {
		for _, tool := range v.Known(topic) {
			if !slices.ContainsFunc(out, func(o inventory.Known) bool { return o.Tool == tool.Tool }) {
				out = append(out, tool)
				break
			}
		}
	}
	return out
}

// askingConversation is the conversation in which the server asks.
type askingConversation struct {
	t      *suite.T
	c      *client.Conversation
	thinks openRequests
	tried  bool // it was pinged beside a question
	told   bool // it was said that a ping has to wait for the client's answer
}

// ping calls a tool and pings while what it asks is open. One of the pings has
// the id of the server's request, which is none of the client's. It reports whether
// the call came to its end, so that another one can be tried.
func (a *askingConversation) ping(ctx context.Context, tool inventory.Known) bool {
	c, call, from := a.c, a.c.NewID(), a.c.Record.Len()
	a.thinks.begin()
	if err := c.Send(ctx, c.Request(call, spec.MethodToolsCall, tool.Params())); err != nil {
		a.t.GiveUp("the tool could not be called: " + err.Error())
	}
	question, ended := awaitServerRequest(ctx, c, from, call)
	if question == nil {
		a.refuseOpen(ctx)
		return ended
	}
	a.tried = true
	c.AwaitResponse(ctx, from, call, client.Within(c.Grace())) // what else the tool asks at once has come
	at, pings := c.Record.Len(), []wire.ID{c.NewID()}
	if c.RequestSent(0, question.ID) == nil {
		pings = append(pings, question.ID)
	}
	prompt := make([]bool, len(pings))
	for i, id := range pings {
		if err := c.Send(ctx, c.Request(id, spec.MethodPing, nil)); err != nil {
			a.t.GiveUp("the ping could not be sent: " + err.Error())
		}
		if prompt[i] = c.AwaitResponse(ctx, at, id, client.Within(a.limit())).Answered(); !prompt[i] {
			pings = pings[:i+1]
			break
		}
	}
	a.refuseOpen(ctx)
	for i, id := range pings {
		r := c.AwaitResponse(ctx, at, id, client.Within(c.Options().Timeout))
		r.Sent = c.RequestSent(at, id)
		if !prompt[i] && r.Succeeded() {
			a.noteLatePing(question, r)
		} else if !judgePing(ctx, a.t, c, r) {
			return false
		}
	}
	return c.AwaitResponse(ctx, from, call, client.Within(c.Options().Timeout)).Answered()
}

// limit is how long a ping is waited for while a question is open. Where it is
// known already that pings have to wait for the client's answer, only those matter
// that have no answer behind it either.
func (a *askingConversation) limit() time.Duration {
	if a.told {
		return a.c.Grace()
	}
	return thinkingTime
}

// noteLatePing says once that a ping was answered only behind the client's answer.
func (a *askingConversation) noteLatePing(question *wire.Message, r *client.Reply) {
	if a.told {
		return
	}
	a.told = true
	d := unansweredPing(responds, "The server answers a ping only after its own request was answered.", r)
	d.Weight, d.Permitted = verdict.AtMostWarning, "a result at once"
	d.Seen = fmt.Sprintf("no answer in %v while %s was open, and one behind the client's answer to that", thinkingTime, wire.Excerpt(question.Method, 80))
	a.t.Deviates(a.c, d)
}

// refuseOpen ends the thinking: what was left open is refused.
func (a *askingConversation) refuseOpen(ctx context.Context) {
	for _, m := range a.thinks.end() {
		_ = a.c.Send(ctx, suite.Refuse(m))
	}
}

// openRequests leaves open what the server asks, and keeps it: of several questions
// each is answered in the end, and once.
type openRequests struct {
	mu   sync.Mutex
	on   atomic.Bool
	left []*wire.Message
}

func (k *openRequests) answer(m *wire.Message) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	answer := suite.LeaveOpen(&k.on)(m)
	if answer == nil {
		k.left = append(k.left, m)
	}
	return answer
}

func (k *openRequests) begin() { k.on.Store(true) }

// end returns what was left open.
func (k *openRequests) end() []*wire.Message {
	k.mu.Lock()
	defer k.mu.Unlock()
	left := k.left
	k.left = nil
	k.on.Store(false)
	return left
}

// awaitServerRequest waits for what the server asks in a call, and returns nil where the call
// ends without that, or nothing comes.
func awaitServerRequest(ctx context.Context, c *client.Conversation, from int, call wire.ID) (question *wire.Message, ended bool) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Options().Timeout, client.ErrUnanswered)
	defer cancel()
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
				ended = true
				return true
			}
		}
		return false
	})
	return question, ended
}
