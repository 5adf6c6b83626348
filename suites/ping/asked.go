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

// thinkingTime is how long the server has to wait for the client's response while a ping is
// pending. It is far longer than a ping takes.
const thinkingTime = 3 * time.Second

// farIDs is the first id of a client whose ids must differ from those of the server's requests.
// Client and server number their requests independently, and most servers begin with 0 or 1.
const farIDs = 7001

// pingWhileAsked leaves requests of the server open, as a user does who takes time to decide, and
// pings. A server that waits for the response and expects nothing else on its input mistakes the
// ping for the response, or leaves the ping unread. Roots, sampling and elicitation are each
// tested, because servers may wait for them in different ways.
func pingWhileAsked(ctx context.Context, t *suite.T) {
	t.RequireTool(inventory.AsksRoots, inventory.AsksSampling, inventory.AsksElicitation)
	a := &askingConversation{t: t}
	a.c = t.Start(ctx, client.Options{FirstID: farIDs, Answer: a.serverRequests.answer})
	t.AwaitQuiet(ctx, a.c) // by now, requests that the server sends on its own at the start have come
	for _, tool := range askingTools(t.Inventory) {
		if !a.pingDuringCall(ctx, tool) {
			break
		}
	}
	if !a.tried {
		t.GiveUp("the tool sent the client no request")
	}
}

// askingTools returns a tool for each kind of request, without duplicates.
func askingTools(v *inventory.Inventory) []inventory.KnownCall {
	var out []inventory.KnownCall
	for _, role := range []inventory.Role{inventory.AsksRoots, inventory.AsksSampling, inventory.AsksElicitation} {
		for _, tool := range v.KnownCalls(role) {
			if !slices.ContainsFunc(out, func(o inventory.KnownCall) bool { return o.Tool == tool.Tool }) {
				out = append(out, tool)
				break
			}
		}
	}
	return out
}

// askingConversation is the conversation in which the server sends its requests.
type askingConversation struct {
	t              *suite.T
	c              *client.Conversation
	serverRequests openRequests
	tried          bool // the server was pinged while a request was open
	reportedLate   bool // a late ping was reported
}

// pingDuringCall calls a tool and pings while the server's request is open. A second ping has the
// id of the server's request, unless the client has used that id itself. It reports whether the
// pings and the call were answered, so that another tool can follow. If the server sends no
// request, there is no ping.
func (a *askingConversation) pingDuringCall(ctx context.Context, tool inventory.KnownCall) bool {
	c, call, from := a.c, a.c.NewID(), a.c.Record.Len()
	a.serverRequests.leaveOpen()
	if err := c.Send(ctx, c.Request(call, spec.MethodToolsCall, tool.Params())); err != nil {
		a.t.GiveUp("mcp-conform could not call the tool: " + err.Error())
	}
	question, ended := awaitServerRequest(ctx, c, from, call)
	if question == nil {
		a.refuseOpenRequests(ctx)
		return ended
	}
	a.tried = true
	c.AwaitResponse(ctx, from, call, client.Within(c.Grace())) // by now, further requests that the tool sends at once have come
	at, pings := c.Record.Len(), []wire.ID{c.NewID()}
	if c.RequestSent(0, question.ID) == nil {
		pings = append(pings, question.ID)
	}
	prompt := make([]bool, len(pings))
	for i, id := range pings {
		if err := c.Send(ctx, c.Request(id, spec.MethodPing, nil)); err != nil {
			a.t.GiveUp("mcp-conform could not send the ping: " + err.Error())
		}
		if prompt[i] = c.AwaitResponse(ctx, at, id, client.Within(a.limit())).Answered(); !prompt[i] {
			pings = pings[:i+1]
			break
		}
	}
	a.refuseOpenRequests(ctx)
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

// limit returns how long to wait for a ping while a request is open. Once a late ping was reported,
// only pings that stay unanswered even after the client's response matter.
func (a *askingConversation) limit() time.Duration {
	if a.reportedLate {
		return a.c.Grace()
	}
	return thinkingTime
}

// noteLatePing reports, once, that a ping was answered only after the client's response.
func (a *askingConversation) noteLatePing(question *wire.Message, r *client.Reply) {
	if a.reportedLate {
		return
	}
	a.reportedLate = true
	d := unansweredPing(responds, "The server answers a ping only after its own request was answered.", r)
	d.Weight, d.Permitted = verdict.AtMostWarning, "a result at once"
	d.Seen = fmt.Sprintf("no answer in %v while %s was open, and one after the client's answer to that", thinkingTime, wire.Excerpt(question.Method, 80))
	_, open := requestsInFlight(a.c, r.Sent)
	d.At = append(open, d.At...)
	a.t.Report(a.c, d)
}

// refuseOpenRequests refuses the open requests.
func (a *askingConversation) refuseOpenRequests(ctx context.Context) {
	for _, m := range a.serverRequests.end() {
		_ = a.c.Send(ctx, suite.RefusalOf(m))
	}
}

// openRequests leaves the server's requests open and keeps them, so that the case can answer each
// of them later.
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

func (k *openRequests) leaveOpen() { k.on.Store(true) }

// end returns the open requests. The server's later requests are no longer left open.
func (k *openRequests) end() []*wire.Message {
	k.mu.Lock()
	defer k.mu.Unlock()
	left := k.left
	k.left = nil
	k.on.Store(false)
	return left
}

// awaitServerRequest waits for a request other than a ping that the server sends during a call. It
// returns nil if the call ends without one, or nothing comes. It reports whether the call ended.
func awaitServerRequest(ctx context.Context, c *client.Conversation, from int, call wire.ID) (question *wire.Message, ended bool) {
	_, _ = c.Await(ctx, from, func(e *transcript.Event) bool {
		if e.Kind != transcript.Received {
			return false
		}
		for i := range e.Messages() {
			switch m := &e.Messages()[i]; {
			case m.Kind == wire.Request && m.Method != spec.MethodPing:
				question = m
				return true
			case m.IsResponseTo(call):
				ended = true
				return true
			}
		}
		return false
	}, client.Within(0))
	return question, ended
}
