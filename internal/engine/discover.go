package engine

import (
	"context"
	"slices"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/transport"
)

// DiscoverTimeout returns how long a server may take to start and respond to server/discover.
// slowest is the time of the server's slowest start so far. The timeout is short, because a few
// servers of older revisions never respond.
func DiscoverTimeout(slowest time.Duration) time.Duration { return max(time.Second, 3*slowest) }

// discoverStateless sends server/discover, and returns "" if the server speaks the stateless
// revision and lists no handshake revision, or if it lists the stateless one in an invalid response
// (see listsInvalidly). Otherwise it returns what the server did. Call it only if initialize
// failed, because a server that lists a handshake revision should have accepted initialize. On
// success, the conversation stays open in r.discovered.
func (r *prober) discoverStateless(ctx context.Context) (whyNot string) {
	p := r.discover(ctx)
	if p.listsInvalidly() || p.isSpoken() && !slices.ContainsFunc(spec.HandshakeRevisions(), p.conv.Server().Lists) {
		r.discovered = p
		return ""
	}
	r.endUnjudged(p)
	return p.unspokenReason()
}

// discover sends server/discover in a new conversation.
func (r *prober) discover(ctx context.Context) *probed {
	return r.openRevision(ctx, spec.V20260728, DiscoverTimeout(r.s.timing.slowest()), nil)
}

// endUnjudged ends the conversation of a revision that is not judged. Nothing in it counts
// as a failure of the server.
func (r *prober) endUnjudged(p *probed) {
	if p.conv != nil {
		p.conv.Shutdown(shortPatience)
		r.s.record(p.conv, probeOccasion)
	}
	if p.stop != nil {
		p.stop()
	}
}

// addStateless adds the stateless revision to the results if three conditions are met: the user
// names no revision, the server speaks a handshake revision, and server/discover lists the
// stateless one. The response to server/discover need not be valid, because the rules judge that.
func (r *prober) addStateless(ctx context.Context, results []*probed) []*probed {
	speaksHandshake := slices.ContainsFunc(results, func(p *probed) bool {
		return p.isSpoken() && p.revision.Era() == spec.Handshake
	})
	if !speaksHandshake || !r.s.o.mayAddStateless() {
		return results
	}
	p := r.discover(ctx)
	if !p.listsInvalidly() && (p.conv == nil || !p.conv.Server().Lists(p.revision)) {
		r.endUnjudged(p)
		if p = r.discoverAlone(ctx, p); p == nil {
			return results
		}
	}
	return append(results, p)
}

// discoverAlone sends server/discover as the first request to a process of its own, because a
// server of both eras may refuse that request once a client has sent initialize, as in the
// conversation of refused. If the server then lists the stateless revision, each case of that
// revision gets a process of its own. Otherwise, or if no second process can run, it returns nil.
func (r *prober) discoverAlone(ctx context.Context, refused *probed) *probed {
	sharer, ok := r.s.dialer.(transport.Sharer)
	if !ok || sharer.IsLimitedToOne() || r.s.gate.isSingle || r.s.o.Quick || refused.isUnanswered() {
		return nil
	}
	d, stop := sharer.FreshDialer()
	p := r.openRevisionWith(ctx, d, refused.revision, r.s.restartTimeout(), nil)
	p.stop = stop
	if p.conv == nil || !p.isSpoken() || !p.conv.Server().Lists(p.revision) {
		r.endUnjudged(p)
		return nil
	}
	r.offer.alone = p.revision
	r.s.notices.add("the server lists " + string(p.revision) + " only until a client sends initialize, so each case of that revision has a process of its own")
	return p
}
