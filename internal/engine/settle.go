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

// settleProbe decides which revisions are judged. Their conversations continue
// as the shared ones.
func (r *prober) settleProbe(ctx context.Context, pass *pass, results []*probed) error {
	done := func() { r.closeAll(results); pass.finishWork(); pass.leave() }
	for _, p := range results {
		if p.isSpoken() {
			r.offer.revisions = append(r.offer.revisions, p.revision)
		} else {
			r.offer.notSpoken = append(r.offer.notSpoken, verdict.NotSpoken{Revision: p.revision, Reason: p.reason()})
		}
	}
	slices.Sort(r.offer.revisions)
	slices.SortFunc(r.offer.notSpoken, func(a, b verdict.NotSpoken) int { return strings.Compare(string(a.Revision), string(b.Revision)) })
	if len(r.offer.revisions) == 0 {
		defer done()
		if results[0].protected {
			r.offer.protected = true
			r.blockHandshake(results[0].revision, noToken)
			return nil
		}
		refused := !slices.ContainsFunc(results, func(p *probed) bool { return p.reply.Succeeded() || p.hasWrongID() || p.misdirected })
		asked := results[0].revision
		if refused && asked.Era() == spec.Handshake && r.isStateless(ctx) {
			return ErrStatelessOnly
		}
		if asked.Era() == spec.Stateless && !results[0].isUnanswered() && len(results) == 1 {
			return &NothingJudgedError{fmt.Sprintf("the server does not speak %s: %s", asked, results[0].reason())}
		}
		if len(r.s.o.Revisions) > 0 && results[0].reply.Succeeded() && spec.Revision(results[0].chosen).Published() {
			return &NothingJudgedError{fmt.Sprintf("the server does not speak %s: %s", names(r.s.o.Revisions, ", "), results[0].reason())}
		}
		if why := r.otherTransportReason(results); why != "" {
			return &NothingJudgedError{why}
		}
		r.blockHandshake(results[0].revision, "the handshake failed: asked for "+string(results[0].revision)+", "+results[0].reason())
		return nil
	}
	r.offer.inventories = map[spec.Revision]*inventory.Inventory{}
	r.open.byRevision = map[spec.Revision]*sharedConversation{}
	r.offer.unresponsive = map[spec.Revision]string{}
	r.detectMixing(ctx, results)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, p := range results {
		if !p.isSpoken() || r.s.gate.one {
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
	r.retakeInventories(ctx)
	for _, p := range results {
		if r.offer.inventories[p.revision] == nil {
			r.closeAll([]*probed{p})
		}
	}
	pass.finishWork()
	if r.s.gate.one {
		pass.leave()
		r.takeInventoriesAlone(ctx)
	} else {
		pass.markLongRunning()
		r.open.pass = pass
		r.offer.isSlow = slices.ContainsFunc(results, func(p *probed) bool { return p.isSpoken() && p.conv.IsSlow() })
		r.s.gate.admit(mostAlive(r.s.o.Jobs, r.s.transport(), r.offer.isSlow))
		r.learnRoles()
	}
	return nil
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
			r.s.end(conv, probing, false)
		}
		r.offer.inventories[rev] = offered
		r.open.byRevision[rev] = &sharedConversation{}
		pass.finishWork()
		pass.leave()
	}
}
