package suite

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// crossingID is the id that the calls of all clients have.
const crossingID = "mcp-conform/crossing"

// crossTime is how long a call takes: long enough for the calls of all clients to overlap.
const crossTime = 200 * time.Millisecond

// A replyPair holds the replies to two requests of one client: same is the reply to the request
// whose id all clients use, own the reply to the request whose id only this client uses.
type replyPair struct {
	same, own *client.Reply
	from      int // the length of the conversation's record before the requests
}

// checkConcurrentIDs makes calls with the same id from all clients at the same time, each with a
// different result, because a server that finds a pending call by its id alone sends one client the
// response of another.
func (c *ConcurrentClients) checkConcurrentIDs(ctx context.Context) {
	if k, ok := c.t.Inventory.SlowCall(crossTime, 2); !ok || !k.IsDeterministic {
		return
	}
	pairs := make([]replyPair, len(c.convs))
	// The clients start their calls in turn. Otherwise the calls of the last client may end first,
	// and a misdirected response that this client receives afterwards would be missed.
	turns := make([]chan struct{}, len(c.convs)+1)
	for i := range turns {
		turns[i] = make(chan struct{})
	}
	close(turns[0])
	c.forEach(func(i int, conv *client.Conversation) {
		same, own := wire.StringID(crossingID), wire.StringID(clientMark(i)+"crossing")
		from := conv.Record.Len()
		<-turns[i]
		ctx, cancel := conv.Record.WithTimeout(ctx, crossTime+crowdTime, client.ErrUnanswered)
		defer cancel()
		err := conv.Send(ctx, conv.Request(same, spec.MethodToolsCall, c.paramsWithSteps(i)), conv.Request(own, spec.MethodToolsCall, c.paramsWithSteps(i)))
		if err == nil && i+1 < len(c.convs) {
			_ = conv.Fence(ctx) // so that the server has read the calls
		}
		close(turns[i+1])
		if err != nil {
			return
		}
		pairs[i] = replyPair{own: conv.AwaitResponse(ctx, from, own), same: conv.AwaitResponse(ctx, from, same), from: from}
	})
	if c.judgeCrossed(pairs) {
		return
	}
	for i, p := range pairs {
		if p.same != nil && errors.Is(p.same.Err, client.ErrUnanswered) && p.own.Succeeded() && c.repeatAlone(ctx, c.convs[i], c.paramsWithSteps(i)) &&
			!AwaitExpected(ctx, c.convs[i], 0, wire.StringID(crossingID)).Answered() && c.judgeUnanswered(i, p) {
			return
		}
	}
}

// judgeUnanswered records a deviation if client i got no response to the request with the shared
// id, but a result for its other request. It reports whether it recorded one.
func (c *ConcurrentClients) judgeUnanswered(i int, p replyPair) bool {
	if !errors.Is(p.same.Err, client.ErrUnanswered) || !p.own.Succeeded() || isIntercepted(c.convs[i]) {
		return false
	}
	c.t.Report(c.convs[i], verdict.Deviation{
		Requirement: c.MultipleClients,
		Summary:     "The server does not answer a client whose id another one uses.",
		Permitted:   "for each client the responses to its own requests",
		Seen:        "no answer, though another request of this client was answered", At: positionsOfResponse(p.own),
	})
	return true
}

// stepsOf returns the number of steps in each call of client i, see SlowCall: a number that is
// unlikely to occur in a result by chance.
func stepsOf(i int) int { return []int{17, 23, 29}[i%clientCount] }

// paramsWithSteps returns the params of a call whose result identifies client
// i.
func (c *ConcurrentClients) paramsWithSteps(i int) map[string]any {
	tool, _ := c.t.Inventory.SlowCall(crossTime, stepsOf(i))
	return tool.Params()
}

// digits matches each whole number in a string.
var digits = lazyregexp.New(`[0-9]+`)

// maskNumber returns the result with each occurrence of number replaced with "…", and reports
// whether there is any. Digits that are part of a longer number are not an occurrence.
func maskNumber(r *client.Reply, number int) (string, bool) {
	found := false
	text := digits.ReplaceAllStringFunc(string(r.Message.Result()), func(s string) string {
		if s != strconv.Itoa(number) {
			return s
		}
		found = true
		return "…"
	})
	return text, found
}

// areDistinguishable reports whether each result contains the number of steps of its own call, and
// the results differ in nothing else. Only then does a result show which call it belongs to,
// because results that also vary in another way, such as in a duration, may be equal by chance.
func areDistinguishable(pairs []replyPair) bool {
	first := ""
	for i, p := range pairs {
		if p.own == nil || !p.own.Succeeded() {
			return false
		}
		text, found := maskNumber(p.own, stepsOf(i))
		if !found || i > 0 && text != first {
			return false
		}
		first = text
	}
	return true
}

// judgeCrossed records a deviation if a client got the result of another client's call, and
// reports whether it recorded one. It checks all responses with the id crossingID, because the
// client may get its own result first. Results that are not distinguishable show nothing.
func (c *ConcurrentClients) judgeCrossed(pairs []replyPair) bool {
	if !areDistinguishable(pairs) {
		return false
	}
	id := wire.StringID(crossingID)
	for i, conv := range c.convs {
		isOthers := func(m *wire.Message) bool {
			return slices.ContainsFunc(pairs, func(p replyPair) bool {
				return p.own != pairs[i].own && bytes.Equal(m.Result(), p.own.Message.Result())
			})
		}
		for e, m := range transcript.Messages(conv.Record.From(pairs[i].from), transcript.Received) {
			if !m.IsResponseTo(id) || !isOthers(m) {
				continue
			}
			c.t.Report(conv, verdict.Deviation{
				Requirement: c.MultipleClients,
				Summary:     "The server sends a client another client's call result for its id.",
				Permitted:   "the result of this client's own call: " + wire.Excerpt(string(pairs[i].own.Message.Result()), 120),
				Seen:        wire.Excerpt(string(m.Result()), 200), At: []int{e.Seq},
			})
			return true
		}
	}
	return false
}

func positionsOfResponse(r *client.Reply) []int {
	if r.Event == nil {
		return nil
	}
	return []int{r.Event.Seq}
}

// checkSubscriptions subscribes the last client, and then the first, to a resource that all clients
// change, because a server that misdirects updates may send them to its first client or to its
// latest. Rules judge updates that the other clients receive.
func (c *ConcurrentClients) checkSubscriptions(ctx context.Context) {
	change, uri, ok := c.t.Inventory.ResourceChangeCall()
	if !ok || c.Isolation == "" {
		return
	}
	for _, subscriber := range []*client.Conversation{c.convs[len(c.convs)-1], c.First()} {
		subscriber.Do(ctx, spec.MethodResourcesSubscribe, map[string]any{"uri": uri}, client.Within(0))
		c.forEach(func(_ int, conv *client.Conversation) {
			conv.Do(ctx, spec.MethodToolsCall, change.Params(), client.Within(crowdTime))
			_ = conv.AwaitQuiet(ctx) // an update may come a little later
		})
		subscriber.Do(ctx, spec.MethodResourcesUnsubscribe, map[string]any{"uri": uri}, client.Within(0))
	}
	c.checkUnsubscribing(ctx, uri)
}

// checkUnsubscribing subscribes two clients to a resource, and ends one subscription. The other
// client must still get updates. That client makes the changes itself, because the server may have
// a separate resource for each client. A missing update counts only if a second update is missing
// too, if updates came before, and if they come again as soon as the client renews its
// subscription.
func (c *ConcurrentClients) checkUnsubscribing(ctx context.Context, uri string) {
	leaving, staying, changes := c.First(), c.convs[len(c.convs)-1], 0
	send := func(conv *client.Conversation, method string) *client.Reply {
		return conv.Do(ctx, method, map[string]any{"uri": uri}, client.Within(0))
	}
	isUpdated := func() bool {
		changes++
		change, _, _ := c.t.Inventory.NumberedResourceChangeCall(changes)
		from := staying.Record.Len()
		return staying.Do(ctx, spec.MethodToolsCall, change.Params(), client.Within(crowdTime)).Succeeded() &&
			c.t.AwaitNotification(ctx, staying, from, spec.MethodResourcesUpdated)
	}
	subscribed := send(staying, spec.MethodResourcesSubscribe)
	defer send(staying, spec.MethodResourcesUnsubscribe)
	for range 2 {
		if !subscribed.Succeeded() || !send(leaving, spec.MethodResourcesSubscribe).Succeeded() || !isUpdated() ||
			!send(leaving, spec.MethodResourcesUnsubscribe).Succeeded() || isUpdated() ||
			!send(staying, spec.MethodResourcesSubscribe).Succeeded() || !isUpdated() {
			return
		}
	}
	c.t.Report(staying, verdict.Deviation{
		Requirement: c.Isolation,
		Summary:     "The server ends the subscriptions of all clients when one unsubscribes.",
		Permitted:   "updates for each client until it ends its own subscription",
		Seen:        "updates of " + wire.Excerpt(uri, 80) + " stopped when another client unsubscribed, and came again after a new subscription",
		At:          subscribed.Positions(),
	})
}
