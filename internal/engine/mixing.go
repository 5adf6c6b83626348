package engine

import (
	"context"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// detectMixing detects a server that sends one client's responses to another, and then makes
// sessions run one at a time. Otherwise a client would take the other's responses for its own. It
// checks only over HTTP+SSE, where some servers send the responses to all clients on one stream.
func (r *prober) detectMixing(ctx context.Context, results []*probed) {
	i := slices.IndexFunc(results, (*probed).isSpoken)
	if r.s.gate.isSingle || i < 0 || r.s.transport() != spec.SSE {
		return
	}
	if r.detectOverheardResponse(ctx, results[i]) {
		r.s.gate.isSingle = true
		r.s.discounts.NoteMixing()
		r.s.notices.add("a response to one client also reached another, so one session runs at a time")
	}
}

// detectOverheardResponse opens a second conversation and reports whether p's conversation receives
// the response to a request of the second. If the second got a response, it replaces p's
// conversation, which ends. A server that sends all responses to the newest client would never
// respond in the old one again.
func (r *prober) detectOverheardResponse(ctx context.Context, p *probed) bool {
	o := r.s.o.clientOptions(p.revision)
	o.Pace, o.StartTimeout = r.s.timing.paces[p.revision], r.s.restartTimeout()
	other, err := r.s.dial(ctx, o)
	if err != nil {
		return false
	}
	first, from := p.conv, p.conv.Record.Len()
	id := wire.StringID("mcp-conform/apart")
	if other.Handshake(ctx) != nil || !sendHarmless(ctx, other, id) {
		r.s.endProbe(other)
		return false
	}
	_ = first.Fence(ctx) // after this, everything that the server has sent before has arrived
	p.conv = other
	r.s.endProbe(first)
	return slices.ContainsFunc(first.Record.From(from), func(e *transcript.Event) bool { return e.ResponseTo(id) != nil })
}

// sendHarmless sends a harmless request with this id and reports whether it got a response. A
// missing one does not count as a failure here, because no rule judges this conversation.
func sendHarmless(ctx context.Context, c *client.Conversation, id wire.ID) bool {
	ctx, cancel := c.Record.WithTimeout(ctx, c.Options().Timeout, client.ErrUnanswered)
	defer cancel()
	from := c.Record.Len()
	return c.Send(ctx, c.Request(id, c.HarmlessMethod(), nil)) == nil && c.AwaitResponse(ctx, from, id).Answered()
}
