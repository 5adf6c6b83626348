package engine

import (
	"context"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// dialer returns the dialer for the unit's conversations, and what ends a
// process that it started: what is tried again is tried on a fresh one, where
// the conversations of the run share theirs.
func (u *unit) dialer(r *run) (d transport.Dialer, stop func()) {
	if sharer, ok := r.o.Dialer.(transport.Sharer); ok && u.repeats > 0 {
		return sharer.Fresh()
	}
	return r.o.Dialer, func() {}
}

// single tells whether a fresh process can't be had while the conversations of
// the run go on.
func (r *run) single() bool {
	sharer, ok := r.o.Dialer.(transport.Sharer)
	return ok && sharer.Single()
}

func (r *run) dialBy(ctx context.Context, d transport.Dialer, o client.Options) (*client.Conversation, error) {
	r.starts.Add(1)
	return client.Open(ctx, d, o)
}
