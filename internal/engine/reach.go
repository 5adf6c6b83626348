package engine

import (
	"context"
	"slices"

	"github.com/mcp-conform/mcp-conform/internal/spec"
)

// Commands other than run use the functions in this file, so that they report the same errors as a
// run if they cannot use the server.

// CheckReachable sends the server the opening request of the newest requested revision. It returns
// the error with which a run would then end, or nil if a run would continue.
func CheckReachable(ctx context.Context, o Options) error {
	o = o.withDefaults()
	r := newProber(newSession(o))
	defer r.s.gate.drain()
	pass := r.s.gate.enter(false, 0)
	first, err := r.openFirst(ctx, o.wantedRevisions()[0])
	r.s.endProbed(first)
	if r.discovered != nil {
		r.endUnjudged(r.discovered)
	}
	pass.finishWork()
	pass.leave()
	return err
}

// WhyUnspoken returns an error that says why no script can be played in any of the requested
// revisions, or nil if the server speaks one of them.
func WhyUnspoken(ctx context.Context, o Options) error {
	o = o.withDefaults()
	r := newProber(newSession(o))
	defer r.s.gate.drain()
	found, err := r.probe(ctx)
	if err != nil {
		return err
	}
	newInventoryTaker(r.s, r.offer).take(ctx, found).end(r.s.ender)
	if r.offer.handshakeFails != "" {
		return &UnreachableError{Reason: r.offer.handshakeFails, Advice: "mcp-conform run judges the attempt"}
	}
	// A run can judge a server/discover result that lists no version, but a script can't be played.
	stateless := spec.V20260728
	if slices.Equal(r.offer.revisions, []spec.Revision{stateless}) && !r.offer.inventories[stateless].Server.Lists(stateless) {
		return &NothingJudgedError{"the server does not speak 2026-07-28: server/discover does not list it"}
	}
	return nil
}
