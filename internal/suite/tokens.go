package suite

import (
	"context"
	"slices"
	"strconv"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// tokenOfAll is the progress token of a call that all clients make. Tokens are
// unique only within a session, and many clients use the numbers of their
// requests as tokens.
const tokenOfAll = "mcp-conform/token-of-all"

// progress is what a client learned from the progress notifications for a call: totals has the
// total of each notification, or "" if it has none; last is the event of the last one.
type progress struct {
	totals []string
	last   *transcript.Event
}

// foreignClient returns the number of a client other than i whose number of steps is in the
// progress that client i received, and whether there is such a client. The argument clients is the
// number of all clients.
func (p progress) foreignClient(i, clients int) (int, bool) {
	for j := range clients {
		if j != i && slices.Contains(p.totals, strconv.Itoa(stepsOf(j))) {
			return j, true
		}
	}
	return 0, false
}

// checkTokens makes calls with the same progress token from all clients at the same time, each with
// its own number of steps, because a server that finds the client by the token alone sends one
// client the progress of another.
func (c *ConcurrentClients) checkTokens(ctx context.Context) {
	if k, ok := c.t.Inventory.SlowCall(crossTime, 2); !ok || !k.IsDeterministic || c.Isolation == "" {
		return
	}
	all := make([]progress, len(c.convs))
	c.forEach(func(i int, conv *client.Conversation) {
		all[i] = c.callWithProgress(ctx, i, wire.StringID(clientMark(i)+"progress"), tokenOfAll)
	})
	for i, p := range all {
		j, ok := p.foreignClient(i, len(all))
		if !ok && len(p.totals) > stepsOf(i) {
			j, ok = findIncomplete(all)
		}
		if ok && c.callWithUniqueToken(ctx, i) && c.callWithUniqueToken(ctx, j) {
			c.reportLeak(c.convs[i], p.last, "The server sends a client another's progress for its token.")
			return
		}
	}
}

// findIncomplete returns the number of a client that received fewer progress notifications than its
// call has steps, and whether there is one.
func findIncomplete(all []progress) (int, bool) {
	for j, p := range all {
		if len(p.totals) < stepsOf(j) {
			return j, true
		}
	}
	return 0, false
}

// callWithUniqueToken makes a call of client i with a token of its own, and reports whether the
// client receives the progress of each step, and that of no other call.
func (c *ConcurrentClients) callWithUniqueToken(ctx context.Context, i int) bool {
	p := c.callWithProgress(ctx, i, c.convs[i].NewID(), clientMark(i)+"alone")
	_, others := p.foreignClient(i, len(c.convs))
	return len(p.totals) == stepsOf(i) && !others
}

// callWithProgress makes a call of client i with the progress token. It returns the progress with
// this token that was received before the wait for the response ended.
func (c *ConcurrentClients) callWithProgress(ctx context.Context, i int, id wire.ID, token string) progress {
	conv := c.convs[i]
	from := conv.Record.Len()
	ctx, cancel := conv.Record.WithTimeout(ctx, crossTime+crowdTime, client.ErrUnanswered)
	defer cancel()
	params := c.paramsWithSteps(i)
	params["_meta"] = map[string]any{"progressToken": token}
	if conv.Send(ctx, conv.Request(id, spec.MethodToolsCall, params)) == nil {
		conv.AwaitResponse(ctx, from, id)
	}
	var p progress
	for e, m := range transcript.Messages(conv.Record.From(from), transcript.Received) {
		if text, _ := wire.Text(wire.At(m.Params(), "/progressToken")); m.Method == spec.MethodProgress && text == token {
			p.totals, p.last = append(p.totals, string(wire.At(m.Params(), "/total"))), e
		}
	}
	return p
}
