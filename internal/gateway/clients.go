package gateway

import (
	"context"
	"errors"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// sharedToken is the progress token of both clients. They may use the same one, because a token has
// to be unique only among the requests of one client.
const sharedToken = "token"

// probeClients has two clients call a tool concurrently, with the same progress token. Their
// request ids are often equal too, because both clients number their requests in the same way.
func probeClients(ctx context.Context, v *visit) (any, error) {
	other, err := v.openAnother(ctx)
	if err != nil {
		return nil, &openError{err}
	}
	defer other.Close()
	const own, others = "those of the client", "those of the other client"
	out := map[string]any{"results": own, "progress": own, "cancellations": own}
	one, two, err := holdBothCalls(ctx, v, other, "-both")
	if err != nil {
		return nil, err
	}
	for _, c := range []*heldCall{two, one} { // release them in reverse order
		text, err := c.releaseAndAwait(ctx)
		if err != nil {
			return nil, err
		}
		switch { // a gateway may add something to the text, which another probe reports
		case strings.Contains(text, c.visit.mark+"-both"):
		case c == one && strings.Contains(text, other.mark+"-both"), c == two && strings.Contains(text, v.mark+"-both"):
			out["results"] = others
		case out["results"] == own:
			out["results"] = "those of neither client"
		}
		_ = c.visit.AwaitQuiet(ctx)
	}
	for _, c := range []*heldCall{one, two} {
		for _, m := range c.visit.received(spec.MethodProgress, c.visit.position()) {
			if n, ok := wire.Integer(m.ParamAt("/progress")); ok && int(n) != c.number {
				out["progress"] = others
			}
		}
	}
	one, two, err = holdBothCalls(ctx, v, other, "-cancelled")
	if err != nil {
		return nil, err
	}
	defer one.releaseCall()
	if err := v.Cancel(ctx, one.id, "a probe"); err != nil {
		return nil, err
	}
	_ = v.AwaitQuiet(ctx)
	if two.isCancelled() {
		out["cancellations"] = others
		return out, nil
	}
	_, err = two.releaseAndAwait(ctx)
	return out, err
}

// holdBothCalls has both clients call a tool, and waits until the upstream holds both calls. Each
// call is recognized by a mark in its arguments: that of its client, followed by suffix.
func holdBothCalls(ctx context.Context, v, other *visit, suffix string) (one, two *heldCall, err error) {
	if one, err = v.holdCall(ctx, v.mark+suffix, sharedToken); err != nil {
		return nil, nil, err
	}
	if two, err = other.holdCall(ctx, other.mark+suffix, sharedToken); err != nil {
		one.releaseCall()
		return nil, nil, errors.New("a call of a second client, while one of the first runs: " + err.Error())
	}
	return one, two, nil
}
