package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// settleProbe decides which revisions are judged, and takes their inventories. Their
// conversations continue as the shared ones.
func (r *prober) settleProbe(ctx context.Context, pass *pass, results []*probed) error {
	r.decideRevisions(results)
	if len(r.offer.revisions) == 0 {
		defer pass.leave()
		defer pass.finishWork()
		defer r.closeAll(results)
		return r.settleUnspoken(ctx, results)
	}
	r.offer.inventories = map[spec.Revision]*inventory.Inventory{}
	r.open.byRevision = map[spec.Revision]*sharedConversation{}
	r.offer.unresponsive = map[spec.Revision]string{}
	r.detectMixing(ctx, results)
	if r.s.gate.isSingle {
		r.closeAll(results)
		pass.finishWork()
		pass.leave()
		r.takeInventoriesAlone(ctx)
		return nil
	}
	r.takeInventories(ctx, results)
	r.retakeInventories(ctx)
	r.closeAll(slices.DeleteFunc(slices.Clone(results), func(p *probed) bool { return r.offer.inventories[p.revision] != nil }))
	pass.finishWork()
	pass.markLongRunning()
	r.open.pass = pass
	r.offer.isSlow = slices.ContainsFunc(results, func(p *probed) bool { return p.isSpoken() && p.conv.IsSlow() })
	r.s.gate.setMaxAlive(maxAlive(r.s.o.Jobs, r.s.transport(), r.offer.isSlow))
	r.learnRoles()
	return nil
}

// decideRevisions divides the probed revisions into those that the server speaks and the others.
func (r *prober) decideRevisions(results []*probed) {
	for _, p := range results {
		if p.isSpoken() {
			r.offer.revisions = append(r.offer.revisions, p.revision)
		} else {
			r.offer.notSpoken = append(r.offer.notSpoken, verdict.NotSpoken{Revision: p.revision, Reason: p.reason()})
		}
	}
	slices.Sort(r.offer.revisions)
	slices.SortFunc(r.offer.notSpoken, func(a, b verdict.NotSpoken) int { return strings.Compare(string(a.Revision), string(b.Revision)) })
}

// settleUnspoken decides what is judged if the server speaks none of the probed revisions: how it
// protects itself, or its failed handshake. The error says why nothing can be judged.
func (r *prober) settleUnspoken(ctx context.Context, results []*probed) error {
	first := results[0]
	if first.protected {
		r.offer.protected = true
		r.blockHandshake(first.revision, noToken)
		return nil
	}
	refused := !slices.ContainsFunc(results, func(p *probed) bool { return p.reply.Succeeded() || p.hasWrongID() || p.misdirected })
	if refused && first.revision.Era() == spec.Handshake && r.isStateless(ctx) {
		return ErrStatelessOnly
	}
	if first.revision.Era() == spec.Stateless && !first.isUnanswered() && len(results) == 1 {
		return &NothingJudgedError{fmt.Sprintf("the server does not speak %s: %s", first.revision, first.reason())}
	}
	if len(r.s.o.Revisions) > 0 && first.reply.Succeeded() && spec.Revision(first.chosen).Published() {
		return &NothingJudgedError{fmt.Sprintf("the server does not speak %s: %s", names(r.s.o.Revisions, ", "), first.reason())}
	}
	if why := r.otherTransportReason(results); why != "" {
		return &NothingJudgedError{why}
	}
	r.blockHandshake(first.revision, "the handshake failed: asked for "+string(first.revision)+", "+first.reason())
	return nil
}

// takeInventories takes the inventories in the conversations of the probe, all at the same time.
// An unresponsive server has an empty one.
func (r *prober) takeInventories(ctx context.Context, results []*probed) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, p := range results {
		if !p.isSpoken() {
			continue
		}
		wg.Go(func() {
			why := whyUnresponsive(ctx, p.conv)
			offered := inventory.Empty()
			if why == "" {
				offered = inventory.Take(ctx, p.conv, r.s.o.Policy)
			}
			mu.Lock()
			defer mu.Unlock()
			if why != "" {
				r.offer.unresponsive[p.revision] = why
			}
			r.offer.inventories[p.revision] = offered
			r.open.byRevision[p.revision] = &sharedConversation{conv: p.conv}
		})
	}
	wg.Wait()
}

// blockHandshake judges the attempt in one revision, because no handshake succeeds.
func (r *prober) blockHandshake(rev spec.Revision, why string) {
	r.offer.handshakeFails = why
	r.offer.revisions = []spec.Revision{rev}
	r.offer.notSpoken = slices.DeleteFunc(r.offer.notSpoken, func(n verdict.NotSpoken) bool { return n.Revision == rev })
	r.offer.inventories = map[spec.Revision]*inventory.Inventory{rev: inventory.Empty()}
}

// otherTransportReason returns the reason if the server speaks a revision that
// does not define the transport, and none that does, or "".
func (r *prober) otherTransportReason(results []*probed) string {
	over := r.s.transport()
	for _, p := range results {
		if chose := spec.Revision(p.chosen); p.reply.Succeeded() && slices.Contains(spec.HandshakeRevisions(), chose) && !over.DefinedIn(chose) {
			return fmt.Sprintf("the server speaks %s, which does not define %s, and no revision that does; --revision %s judges it by that revision anyway", chose, over, chose)
		}
	}
	return ""
}

// takeInventoriesAlone takes the inventories one server at a time.
func (r *prober) takeInventoriesAlone(ctx context.Context) {
	for _, rev := range r.offer.revisions {
		pass := r.s.gate.enter(true, 0)
		offered := inventory.Empty()
		if conv, err := r.s.dial(ctx, r.s.o.clientOptions(rev)); err == nil {
			if conv.Handshake(ctx) == nil && whyUnresponsive(ctx, conv) == "" {
				offered = inventory.Take(ctx, conv, r.s.o.Policy)
			}
			r.s.end(conv, probeOccasion, false)
		}
		r.offer.inventories[rev] = offered
		r.open.byRevision[rev] = &sharedConversation{}
		pass.finishWork()
		pass.leave()
	}
}
