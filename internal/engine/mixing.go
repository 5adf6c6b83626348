package engine

import (
	"context"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// detectMixing finds out whether the server sends the answers of one client to
// others, and has one session run at a time then: what belongs to others would
// be taken for the answers of each. Over HTTP+SSE, where all answers come on a
// stream that a server may mistake, such servers are seen.
func (r *prober) detectMixing(ctx context.Context, results []*probed) {
	i := slices.IndexFunc(results, (*probed).isSpoken)
	if r.gate.one || i < 0 || r.transport() != spec.SSE {
		return
	}
	if r.overhearsResponses(ctx, results[i]) {
		r.gate.one, r.mixesResponses = true, true
		r.notice("an answer to one client reached another, too, so one session runs at a time")
	}
}

// isCausedByMixing reports whether a rule that is not about the transport found something
// where conversations were side by side: where answers reach the clients of
// others, it takes them for answers to each.
func isCausedByMixing(result rules.Result, t spec.Transport) bool {
	return slices.ContainsFunc(result.Deviations, func(d verdict.Deviation) bool {
		return spec.AreaOf(d.Requirement) != string(t)
	})
}

// overhearsResponses reports whether the conversation of p hears the answer to a request
// of another, which takes its place: the other way about, a server that sends
// all answers to the client that came last would never answer it again.
func (r *prober) overhearsResponses(ctx context.Context, p *probed) bool {
	o := r.o.clientOptions(p.revision)
	o.Pace, o.StartTimeout = r.paces[p.revision], r.patience()
	other, err := r.dial(ctx, o)
	if err != nil {
		return false
	}
	first, from := p.conv, p.conv.Record.Len()
	id := wire.StringID("mcp-conform/apart")
	if other.Handshake(ctx) != nil || !answered(ctx, other, id) {
		r.end(other, probing, false)
		return false
	}
	_ = first.Fence(ctx) // what was sent before its answer was heard then
	p.conv = other
	r.end(first, probing, false)
	return slices.ContainsFunc(first.Record.From(from), func(e *transcript.Event) bool { return answers(e, id) })
}

// answered reports whether a request with this id is answered. One that is not
// does not count as a failure here, for no rule judges this conversation then.
func answered(ctx context.Context, c *client.Conversation, id wire.ID) bool {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Options().Timeout, client.ErrUnanswered)
	defer cancel()
	from := c.Record.Len()
	return c.Send(ctx, c.Request(id, c.Harmless(), nil)) == nil && c.AwaitResponse(ctx, from, id).Answered()
}

func answers(e *transcript.Event, id wire.ID) bool {
	return e.Kind == transcript.Received && slices.ContainsFunc(e.Messages(), func(m wire.Message) bool {
		return m.Kind == wire.Response && m.ID.Same(id)
	})
}
