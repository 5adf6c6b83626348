package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A prober is the first stage of a run: it determines the offer.
type prober struct {
	s     *session
	offer *offer
	open  *openConversations
}

// newProber returns a prober that has sent nothing yet.
func newProber(s *session) *prober {
	return &prober{s: s, offer: &offer{over: s.transport()}, open: &openConversations{}}
}

// probed is the result of the opening request in one revision.
type probed struct {
	revision spec.Revision
	conv     *client.Conversation // nil when the server could not be started
	reply    *client.Reply
	err      error  // why the server could not be started
	chosen   string // the version in the response
	// misdirected reports whether the server announced an endpoint to which no
	// client can send; the rules judge that.
	misdirected bool
	// failed reports whether the server accepted initialize and did not serve
	// it; the rules judge that.
	failed bool
	// protected reports whether the server requires a token that the run does not
	// have; the cases that need none judge that.
	protected bool
}

func (p *probed) isSpoken() bool { return p.chosen == string(p.revision) && !p.protected }

// isUnanswered reports whether there was no response at all.
func (p *probed) isUnanswered() bool { return p.conv == nil || !p.reply.Answered() }

// isCrowdedOut reports whether there was no response, and other running servers
// may be the reason. They are not the reason if the server runs but stays
// silent.
func (p *probed) isCrowdedOut() bool {
	return p.isUnanswered() && !(p.conv != nil && errors.Is(p.reply.Err, client.ErrUnanswered))
}

// hasWrongID reports whether the likely response had another id.
func (p *probed) hasWrongID() bool {
	return p.conv != nil && !p.reply.Answered() && slices.ContainsFunc(p.conv.Record.From(0), func(e *transcript.Event) bool {
		return e.Kind == transcript.Received && (e.Exchange == 0 || !e.Unterminated) && slices.ContainsFunc(e.Messages(), func(m wire.Message) bool {
			return m.Kind == wire.Response && (m.Has("result") || m.ID.Present() && !m.ID.IsNull())
		})
	})
}

// probe finds out which revisions the server speaks, and takes an inventory in
// each. Unless the user names revisions, the stateless one is judged if the server
// lists it, alone or in addition to handshake revisions.
func (r *prober) probe(ctx context.Context) error {
	err := r.probeRevisions(ctx, r.s.o.wanted())
	if errors.Is(err, ErrStatelessOnly) && len(r.s.o.Revisions) == 0 {
		r.s.gate.drain()
		return r.probeRevisions(ctx, []spec.Revision{spec.V20260728})
	}
	return err
}

func (r *prober) probeRevisions(ctx context.Context, wanted []spec.Revision) error {
	pass := r.s.gate.enter(false, 0)
	first, err := r.askFirst(ctx, wanted[0])
	results := []*probed{first}
	if err != nil {
		r.closeAll(results)
		pass.finishWork()
		pass.leave()
		return err
	}
	if first.hasWrongID() || first.misdirected || first.failed || first.protected {
		return r.settleProbe(ctx, pass, results)
	}
	if !r.s.o.wantsNewestAlone() || !first.isSpoken() || len(r.s.o.pairs(first.revision)) == 0 {
		results = append(results, r.askConcurrently(ctx, wanted[1:], first)...)
	}
	if slices.ContainsFunc(results, (*probed).isCrowdedOut) {
		results = r.retryAlone(ctx, results)
	}
	results = r.alsoStateless(ctx, results)
	if r.s.o.wantsNewestAlone() {
		results = r.newestSpoken(results)
	}
	return r.settleProbe(ctx, pass, results)
}

// askFirst sends the opening request of the first revision. The error says why
// the server cannot be used.
func (r *prober) askFirst(ctx context.Context, rev spec.Revision) (*probed, error) {
	limit := max(r.s.o.StartTimeout, r.s.o.FirstStart)
	stop := SayWaiting("the server's first response", cmp.Or(limit, client.DefaultStartTimeout), r.s.o.Progress.Waiting)
	first := r.askOne(ctx, rev, limit, nil)
	stop()
	first.protected = first.asksForToken()
	switch {
	case first.protected:
		return first, nil
	case first.isEcho():
		return first, &UnreachableError{Reason: EchoReason, Advice: EchoAdvice}
	case first.isUnanswered() && !first.hasWrongID():
		first.misdirected = r.announcesUnusableEndpoint(first)
		first.failed = r.failsInitialize(first)
		if first.misdirected || first.failed {
			return first, nil
		}
		return first, r.explainUnreachable(ctx, first)
	}
	return first, nil
}

// announcesUnusableEndpoint reports whether the server announced an endpoint,
// so that it is an HTTP+SSE server, and broke a rule that explains why
// initialize got no response.
func (r *prober) announcesUnusableEndpoint(p *probed) bool {
	if p.conv == nil || r.s.transport() != spec.SSE {
		return false
	}
	all := transcript.ExchangesOf(p.conv.Record.From(0)).All()
	if len(all) == 0 {
		return false
	}
	if _, announced := endpoint(all[0]); !announced {
		return false
	}
	return r.breaksRequirement(p, "sse.endpoint-event")
}

// failsInitialize reports whether the server reads JSON-RPC over HTTP, or opens
// streams, and breaks a rule by not serving initialize.
func (r *prober) failsInitialize(p *probed) bool {
	return p.conv != nil && p.conv.Web() != nil && r.breaksRequirement(p, "lifecycle.initialize-response")
}

// breaksRequirement reports whether the conversation of p shows that a
// requirement is broken.
func (r *prober) breaksRequirement(p *probed, requirement string) bool {
	return slices.ContainsFunc(r.s.judgedBy(p.conv), func(result rules.Result) bool {
		return slices.ContainsFunc(result.Deviations, func(d verdict.Deviation) bool {
			return d.Requirement == requirement && d.Outcome(spec.Requirements().Lookup(d.Requirement), p.revision) == verdict.Broken
		})
	})
}

// askConcurrently sends the opening request of each further revision to a
// server of its own, concurrently. The first revision has shown that the server
// responds.
func (r *prober) askConcurrently(ctx context.Context, revisions []spec.Revision, first *probed) []*probed {
	if len(revisions) == 0 {
		return nil
	}
	what := fmt.Sprintf("the server's first response in %s", names(revisions, ", "))
	defer SayWaiting(what, cmp.Or(r.s.o.StartTimeout, client.DefaultStartTimeout), r.s.o.Progress.Waiting)()
	control := &starts{session: r.s, revision: first.revision, dialer: r.s.o.Dialer}
	out := make([]*probed, len(revisions))
	var wg sync.WaitGroup
	for i, rev := range revisions {
		wg.Go(func() { out[i] = r.askOne(ctx, rev, r.s.o.StartTimeout, control) })
	}
	wg.Wait()
	return out
}

// askOne sends the opening request of one revision; control may be nil.
func (r *prober) askOne(ctx context.Context, rev spec.Revision, start time.Duration, control client.Starts) *probed {
	p := &probed{revision: rev, reply: &client.Reply{}}
	co := r.s.o.clientOptions(rev)
	co.StartTimeout, co.Pace, co.Starts = start, r.s.timing.paces[rev], control
	p.conv, p.err = r.s.dial(ctx, co)
	if p.err != nil {
		return p
	}
	p.reply = p.conv.Greet(ctx)
	r.s.timing.noteStart(p.reply)
	p.chosen = p.conv.Server().ProtocolVersion
	if rev.Era() == spec.Handshake && p.reply.Succeeded() && p.isSpoken() {
		if err := p.conv.Initialized(ctx); err != nil {
			p.reply.Err = err
		}
	}
	return p
}

// retryAlone repeats the opening request, with no other server running, in each
// revision that got no response while others were probed. If that helps, two
// servers are started once more: only if they fail again, servers run one at a
// time from then on. Otherwise the first failure was chance, and servers run
// concurrently.
func (r *prober) retryAlone(ctx context.Context, results []*probed) []*probed {
	r.closeAll(results)
	tried := r.s.sharesProcess() // a shared process has no second copy
	var why string
	for i, p := range results {
		if !p.isCrowdedOut() {
			continue
		}
		results[i] = r.askOne(ctx, p.revision, r.s.o.StartTimeout, nil)
		if !tried && !results[i].isUnanswered() {
			tried = true
			why = r.whyNoSecondCopy(ctx, results[i])
			r.s.gate.one = why != ""
		}
		r.closeAll(results[i : i+1])
	}
	if r.s.gate.one {
		r.s.notice("a second copy of the server " + why + ", so one runs at a time")
		return results
	}
	var wg sync.WaitGroup
	for i, p := range results {
		if !p.isSpoken() {
			continue
		}
		wg.Go(func() {
			again := r.askOne(ctx, p.revision, r.s.o.StartTimeout, nil)
			if !again.isSpoken() {
				r.closeAll([]*probed{again})
				return
			}
			results[i] = again
		})
	}
	wg.Wait()
	return results
}

// whyNoSecondCopy returns what kept two copies of the server from running at
// once, or "".
func (r *prober) whyNoSecondCopy(ctx context.Context, first *probed) string {
	second := r.askOne(ctx, first.revision, r.s.patience(), nil)
	r.closeAll([]*probed{second})
	switch {
	case ctx.Err() != nil:
		return ""
	case !first.conv.Alive():
		return "ended the first"
	case second.isUnanswered():
		return "failed to start while the first was running"
	}
	return ""
}

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
			r.blockHandshake(results[0].revision, NeedsToken)
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

func (p *probed) reason() string {
	opening := p.revision.OpeningMethod()
	switch {
	case p.err != nil:
		return "the server could not be started: " + p.err.Error()
	case p.hasWrongID():
		return "the server answered " + opening + " with another id"
	case p.misdirected:
		return "the announced endpoint accepts no messages"
	case p.failed:
		return "the server did not serve " + opening
	case !p.reply.Answered():
		return opening + " was not answered"
	case p.reply.Succeeded() && p.revision.Era() == spec.Stateless:
		return "server/discover lists only other versions"
	case p.reply.Succeeded() && p.chosen == "":
		return "the result of initialize has no protocolVersion"
	case p.reply.Succeeded():
		return "the server chose " + wire.Excerpt(p.chosen, 80)
	default:
		return "the server answered " + opening + " with " + suite.Describe(p.reply)
	}
}

func (r *prober) closeAll(results []*probed) {
	var wg sync.WaitGroup
	for _, p := range results {
		if p.conv != nil {
			wg.Go(func() { r.s.end(p.conv, probing, false) })
		}
	}
	wg.Wait()
}
