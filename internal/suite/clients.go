package suite

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// ConcurrentClients are several clients of one server at the same time.
type ConcurrentClients struct {
	// MultipleClients is the id of the requirement that the server serves all clients. Isolation is
	// the id of the requirement that no client receives another's messages; if it is "", it is not
	// judged.
	MultipleClients, Isolation string

	t     *T
	convs []*client.Conversation
}

const clientCount = 3

// OpenClients opens several conversations with one server. It ends the case if it cannot connect
// or if the first handshake fails. After a failed later handshake it opens no further
// conversation, and ends the case if the server limits the rate of requests or no longer serves
// the first client. Otherwise that failure is a deviation.
func (t *T) OpenClients(ctx context.Context, multipleClients, isolation string) *ConcurrentClients {
	clients := &ConcurrentClients{MultipleClients: multipleClients, Isolation: isolation, t: t}
	clients.convs = append(clients.convs, t.Start(ctx, client.Options{Answer: answerAsClient(0)}))
	for i := 1; i < clientCount; i++ {
		c := t.Open(ctx, client.Options{Answer: answerAsClient(i)})
		if err := c.Handshake(ctx); err != nil {
			clients.judgeRefused(ctx, c, err)
			break
		}
		clients.convs = append(clients.convs, c)
	}
	return clients
}

// First returns the first conversation.
func (c *ConcurrentClients) First() *client.Conversation { return c.convs[0] }

// All returns all conversations.
func (c *ConcurrentClients) All() []*client.Conversation { return c.convs }

// judgeRefused judges a failed handshake of a later client. It ends the case if the server limits
// the rate of requests, or does not serve the first client either.
func (c *ConcurrentClients) judgeRefused(ctx context.Context, refused *client.Conversation, err error) {
	if isRateLimited(refused) {
		c.t.GiveUp("the server accepts no more requests for now")
	}
	if c.First().Fence(ctx) != nil {
		c.t.GiveUp("the server no longer answers any client")
	}
	var at []int
	seen := err.Error()
	if all := transcript.ExchangesOf(refused.Record.From(0)).All(); len(all) > 0 {
		last := all[len(all)-1]
		at = PositionsOf(last)
		if last.Status() >= 300 {
			seen = fmt.Sprintf("initialize was answered with status %d", last.Status())
		}
	}
	c.t.Report(refused, verdict.Deviation{
		Requirement: c.MultipleClients,
		Summary:     "The server refuses a second client while it serves the first.",
		Permitted:   "service for several clients at once",
		Seen:        seen, At: at,
	})
}

// isRateLimited reports whether the server refused the client because of its
// request rate, which does not depend on the number of clients.
func isRateLimited(c *client.Conversation) bool {
	all := transcript.ExchangesOf(c.Record.From(0)).All()
	return len(all) > 0 && all[len(all)-1].Status() == http.StatusTooManyRequests
}

// isIntercepted reports whether an intermediary, such as a proxy, may have responded to a request
// of c instead of the server.
func isIntercepted(c *client.Conversation) bool {
	return slices.ContainsFunc(transcript.ExchangesOf(c.Record.From(0)).All(), (*transcript.Exchange).Intercepted)
}

// clientMark returns the mark that the client with this number puts into its
// messages.
func clientMark(i int) string { return "mcp-conform-client-" + strconv.Itoa(i) + "-" }

// answerAsClient returns a function that responds to the server's requests,
// differently for each client.
func answerAsClient(i int) func(*wire.Message) []byte {
	return func(m *wire.Message) []byte {
		switch m.Method {
		case spec.MethodPing:
			return wire.NewResult(m.ID, map[string]any{})
		case spec.MethodRootsList:
			return wire.NewResult(m.ID, map[string]any{"roots": []any{map[string]any{"uri": "file:///" + clientMark(i), "name": clientMark(i)}}})
		case spec.MethodSampling:
			return wire.NewResult(m.ID, map[string]any{
				"role": "assistant", "model": "none", "content": map[string]any{"type": "text", "text": clientMark(i)},
			})
		default:
			return wire.NewError(m.ID, int64(spec.CodeMethodNotFound), "not now", nil)
		}
	}
}

// forEach runs f for every conversation concurrently.
func (c *ConcurrentClients) forEach(f func(i int, conv *client.Conversation)) {
	var wg sync.WaitGroup
	for i, conv := range c.convs {
		wg.Go(func() { f(i, conv) })
	}
	wg.Wait()
}

// CheckAll sends requests from all clients at once, and judges the responses. Then it ends the
// session of the first client. It does nothing if only one client could be opened.
func (c *ConcurrentClients) CheckAll(ctx context.Context) {
	if len(c.convs) < 2 {
		return
	}
	c.checkEqualIDs(ctx)
	c.checkConcurrentIDs(ctx)
	c.checkTokens(ctx)
	c.checkSubscriptions(ctx)
	c.checkSampling(ctx)
	c.checkCancellation(ctx)
	c.checkLogLevels(ctx)
	c.checkLeaks(ctx)
	c.checkForeignMessages()
	c.checkLeaving(ctx)
}

// checkEqualIDs sends a request with the same id from each client. If the server declares tools,
// the second client requests tools/list and the others something else, so that a client that gets
// another's response notices it.
func (c *ConcurrentClients) checkEqualIDs(ctx context.Context) {
	same, replies, others := wire.StringID("mcp-conform/same"), make([]*client.Reply, len(c.convs)), make([]*client.Reply, len(c.convs))
	lists := c.t.Inventory.Declares("tools")
	c.forEach(func(i int, conv *client.Conversation) {
		method := conv.HarmlessMethod()
		if i == 1 && lists {
			method = spec.MethodToolsList
		}
		replies[i] = conv.DoRaw(ctx, same, conv.Request(same, method, nil))
		own := wire.StringID(clientMark(i) + "own")
		others[i] = conv.DoRaw(ctx, own, conv.Request(own, conv.HarmlessMethod(), nil))
	})
	for i, r := range replies {
		if !r.Succeeded() {
			c.judgeUnanswered(i, replyPair{same: r, own: others[i]})
			continue
		}
		hasTools := wire.At(r.Message.Result(), "/tools") != nil
		c.t.Expect(c.convs[i], r).Keeps(c.MultipleClients, "The server sends one client's response to another client.",
			Satisfy("the result of the method that this client asked for", func(*client.Reply) bool { return hasTools == (i == 1 && lists) }))
	}
}

// checkSampling calls a tool that requests sampling, in all conversations. The sampled text of
// another client must not occur in the result.
func (c *ConcurrentClients) checkSampling(ctx context.Context) {
	tool, ok := c.t.Inventory.AskingCallFor(spec.MethodSampling)
	if !ok || c.Isolation == "" {
		return
	}
	replies := make([]*client.Reply, len(c.convs))
	c.forEach(func(i int, conv *client.Conversation) {
		replies[i] = conv.Do(ctx, spec.MethodToolsCall, tool.Params(), client.Within(crowdTime))
	})
	for i, r := range replies {
		for j := range c.convs {
			if r.Succeeded() && i != j && strings.Contains(string(r.Message.Result()), clientMark(j)) {
				c.reportLeak(c.convs[i], r.Event, "The server uses one client's response in another's result.")
				return
			}
		}
	}
}

const (
	crowdTime = 3 * time.Second
	crowdSlow = 400 * time.Millisecond
)

// checkCancellation cancels the slow call of one client while the other clients have calls with the
// same id. Those calls must still get responses.
func (c *ConcurrentClients) checkCancellation(ctx context.Context) {
	tool, ok := c.t.Inventory.SlowCall(crowdSlow, 2)
	if !ok || c.Isolation == "" {
		return
	}
	id, replies := wire.StringID("mcp-conform/slow"), make([]*client.Reply, len(c.convs))
	var sent sync.WaitGroup // waits until every client has a call that could be cancelled
	sent.Add(len(c.convs))
	c.forEach(func(i int, conv *client.Conversation) {
		from := conv.Record.Len()
		ctx, cancel := conv.Record.WithTimeout(ctx, crowdSlow+crowdTime, client.ErrUnanswered)
		defer cancel()
		err := conv.Send(ctx, conv.Request(id, spec.MethodToolsCall, tool.ParamsWithToken(clientMark(i)+"token")))
		if err == nil {
			_ = conv.Fence(ctx) // so that the server has read the call
		}
		sent.Done()
		if err != nil {
			return
		}
		if i == 0 {
			sent.Wait()
			_ = conv.Cancel(ctx, id, "this client wants it no more")
			return
		}
		replies[i] = conv.AwaitResponse(ctx, from, id)
	})
	for i, r := range replies {
		if r == nil {
			continue
		}
		// A busy machine may have delayed the response, so the last condition waits for it again.
		if errors.Is(r.Err, client.ErrUnanswered) && !isIntercepted(c.convs[i]) && c.convs[i].Fence(ctx) == nil && c.repeatAlone(ctx, c.convs[i], tool.Params()) && !AwaitExpected(ctx, c.convs[i], 0, id).Answered() {
			c.reportLeak(c.convs[i], nil, "The server drops a request if another client cancels its id.")
			return
		}
	}
}

// repeatAlone makes the call again when no client cancels anything, and reports whether it gets a
// response.
func (c *ConcurrentClients) repeatAlone(ctx context.Context, conv *client.Conversation, params map[string]any) bool {
	return conv.Do(ctx, spec.MethodToolsCall, params, client.Within(crowdSlow+crowdTime)).Answered()
}

// AwaitExpected waits for the response with the given id at or after position from, at most for the
// timeout of the conversation. Responses to later requests do not end the wait, because responses
// may come in any order.
func AwaitExpected(ctx context.Context, c *client.Conversation, from int, id wire.ID) *client.Reply {
	return c.AwaitResponse(ctx, from, id, client.Within(c.Options().Timeout))
}

// checkForeignMessages looks for messages that belong to another client.
func (c *ConcurrentClients) checkForeignMessages() {
	if c.Isolation == "" {
		return
	}
	for i, conv := range c.convs {
		for e, m := range transcript.Messages(conv.Record.From(0), transcript.Received) {
			token, _ := wire.Text(wire.At(m.Params(), "/progressToken"))
			id, _ := wire.Text([]byte(m.ID.Raw()))
			if hasOthersMark(token, i) || m.Kind == wire.Response && hasOthersMark(id, i) {
				c.reportLeak(conv, e, "The server sends a client a message for another.")
				return
			}
		}
	}
	c.t.MarkKept(c.Isolation)
}

// hasOthersMark reports whether text begins with the mark of a client other than client i.
func hasOthersMark(text string, i int) bool {
	return strings.HasPrefix(text, "mcp-conform-client-") && !strings.HasPrefix(text, clientMark(i))
}

func (c *ConcurrentClients) reportLeak(conv *client.Conversation, e *transcript.Event, summary string) {
	d := verdict.Deviation{Requirement: c.Isolation, Summary: summary, Permitted: "for each client only messages of its own session"}
	if e != nil {
		d.Seen, d.At = wire.Excerpt(string(e.Raw), 200), []int{e.Seq}
	} else {
		d.Seen = fmt.Sprintf("no answer in %v", crowdSlow+crowdTime)
	}
	c.t.Report(conv, d)
}
