package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

// settleProbe decides which revisions are judged, and returns their conversations. If the server
// speaks none of the probed revisions, the conversations are nil. The run then judges how the
// server refuses or fails the handshake, unless settleProbe returns an error.
func (r *prober) settleProbe(ctx context.Context, pass *pass, results []*probed) (*probedConversations, error) {
	r.decideRevisions(results)
	if len(r.offer.revisions) == 0 {
		defer pass.leave()
		defer pass.finishWork()
		defer r.s.endProbed(results...)
		return nil, r.settleUnspoken(ctx, results)
	}
	r.detectMixing(ctx, results)
	return &probedConversations{pass, results}, nil
}

// decideRevisions divides the probed revisions into those that the server speaks and the others. If
// the server speaks one of them, a revision with an invalid response to server/discover is judged
// too, as one in which the server serves no request after server/discover.
func (r *prober) decideRevisions(results []*probed) {
	speaksAny := slices.ContainsFunc(results, (*probed).isSpoken)
	for _, p := range results {
		switch {
		case p.isSpoken():
			r.offer.revisions = append(r.offer.revisions, p.revision)
		case speaksAny && p.listsInvalidly():
			r.offer.revisions = append(r.offer.revisions, p.revision)
			r.offer.setUnresponsive(p.revision, p.unspokenReason())
		default:
			r.offer.notSpoken = append(r.offer.notSpoken, verdict.NotSpoken{Revision: p.revision, Reason: p.unspokenReason()})
		}
	}
	slices.Sort(r.offer.revisions)
	slices.SortFunc(r.offer.notSpoken, func(a, b verdict.NotSpoken) int { return strings.Compare(string(a.Revision), string(b.Revision)) })
}

// settleUnspoken decides what is judged if the server speaks none of the probed revisions: how the
// server protects itself, or its failed handshake. The error says why nothing can be judged.
func (r *prober) settleUnspoken(ctx context.Context, results []*probed) error {
	first := results[0]
	if first.protected {
		r.offer.protected = true
		r.blockHandshake(first.revision, noToken)
		return nil
	}
	refused := !slices.ContainsFunc(results, func(p *probed) bool { return p.reply.Succeeded() || p.hasWrongID() || p.misdirected })
	why := first.unspokenReason()
	if refused && first.revision.Era() == spec.Handshake {
		whyNotStateless := r.discoverStateless(ctx)
		if whyNotStateless == "" {
			return ErrStatelessOnly
		}
		why += "; asked for " + string(spec.V20260728) + ", " + whyNotStateless
	}
	if first.revision.Era() == spec.Stateless && !first.isUnanswered() && !first.listsInvalidly() && len(results) == 1 {
		return &NothingJudgedError{fmt.Sprintf("the server does not speak %s: %s", first.revision, first.unspokenReason())}
	}
	if len(r.s.o.Revisions) > 0 && first.reply.Succeeded() && spec.Revision(first.chosen).IsPublished() {
		return &NothingJudgedError{fmt.Sprintf("the server does not speak %s: %s", joinRevisions(r.s.o.Revisions, ", "), first.unspokenReason())}
	}
	if why := r.otherTransportReason(results); why != "" {
		return &NothingJudgedError{why}
	}
	r.blockHandshake(first.revision, "the handshake failed: asked for "+string(first.revision)+", "+why)
	return nil
}

// blockHandshake makes the run judge only the attempt in revision rev, because no handshake
// succeeds. why is the reason for blocked cases.
func (r *prober) blockHandshake(rev spec.Revision, why string) {
	r.offer.handshakeFails = why
	r.offer.revisions = []spec.Revision{rev}
	r.offer.notSpoken = slices.DeleteFunc(r.offer.notSpoken, func(n verdict.NotSpoken) bool { return n.Revision == rev })
	r.offer.inventories = map[spec.Revision]*inventory.Inventory{rev: inventory.Empty()}
}

// otherTransportReason returns a reason why nothing can be judged if the server speaks only
// revisions that do not define the transport, or "".
func (r *prober) otherTransportReason(results []*probed) string {
	over := r.s.transport()
	for _, p := range results {
		if chose := spec.Revision(p.chosen); p.reply.Succeeded() && slices.Contains(spec.HandshakeRevisions(), chose) && !over.IsDefinedIn(chose) {
			return fmt.Sprintf("the server speaks %s, which does not define %s, and no revision that does; --revision %s judges it by that revision anyway", chose, over, chose)
		}
	}
	return ""
}
