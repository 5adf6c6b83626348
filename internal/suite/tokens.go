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

// tokenOfAll is the progress token of a call that all clients make: tokens are
// unique within a session alone, and many clients take the numbers of their
// requests for them.
const tokenOfAll = "mcp-conform/token-of-all"

// progress is what a client was told of a call: the total of each
// notification, "" without one, and the last event.
type progress struct {
	totals []string
	last   *transcript.Event
}

// whose returns the client whose steps a notification to the client with this
// number tells, other than its own, and whether there is one.
func (p progress) whose(i, clients int) (int, bool) {
	for j := range clients {
		if j != i && slices.Contains(p.totals, strconv.Itoa(stepsOf(j))) {
			return j, true
		}
	}
	return 0, false
}

// tokens has all clients make calls with the same progress token at the same
// time, each in steps of its own: a server that keeps by the token alone whom to
// tell tells one client of the calls of others.
func (c *Crowd) tokens(ctx context.Context) {
	if k, ok := c.t.Inventory.Slow(crossTime, 2); !ok || !k.Exact || c.Isolated == "" {
		return
	}
	all := make([]progress, len(c.convs))
	c.each(func(i int, conv *client.Conversation) {
		all[i] = c.told(ctx, i, wire.StringID(sign(i)+"told"), tokenOfAll)
	})
	for i, p := range all {
		j, ok := p.whose(i, len(all))
		if !ok && len(p.totals) > stepsOf(i) {
			j, ok = lacking(all)
		}
		if ok && c.whole(ctx, i) && c.whole(ctx, j) {
			c.shows(c.convs[i], p.last, "A client gets the progress of another one's request with the same token.")
			return
		}
	}
}

// lacking returns a client that was told of fewer steps than its call has.
func lacking(all []progress) (int, bool) {
	for j, p := range all {
		if len(p.totals) < stepsOf(j) {
			return j, true
		}
	}
	return 0, false
}

// whole reports whether the client with this number is told of each of its steps,
// and of nothing else, when its token is its own.
func (c *Crowd) whole(ctx context.Context, i int) bool {
	p := c.told(ctx, i, c.convs[i].NewID(), sign(i)+"alone")
	_, others := p.whose(i, len(c.convs))
	return len(p.totals) == stepsOf(i) && !others
}

// told makes a call and returns the progress with its token that came until it
// was answered.
func (c *Crowd) told(ctx context.Context, i int, id wire.ID, token string) progress {
	conv := c.convs[i]
	from := conv.Record.Len()
	ctx, cancel := context.WithTimeoutCause(ctx, crossTime+crowdTime, client.ErrUnanswered)
	defer cancel()
	params := c.stepped(i)
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
