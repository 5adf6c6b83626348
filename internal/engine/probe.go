package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/rules"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A prober is the first stage of a run: it finds out what the server offers.
type prober struct {
	s          *session
	offer      *offer
	discovered *probed // see discoverStateless; nil unless the server speaks only the stateless era
}

// newProber returns a prober that has sent nothing yet.
func newProber(s *session) *prober {
	return &prober{s: s, offer: &offer{over: s.transport()}}
}

// probed is the result of the opening request in one revision.
type probed struct {
	revision spec.Revision
	conv     *client.Conversation // nil if the server could not be started
	reply    *client.Reply
	err      error  // why the server could not be started
	chosen   string // the version in the response
	// misdirected reports whether the server announced an HTTP+SSE endpoint to which no client can
	// send. The rules then judge that.
	misdirected bool
	// failed reports whether the server received initialize over HTTP and did not serve it. The
	// rules then judge that.
	failed bool
	// protected reports whether the server requires a token that the run does not have. The cases
	// that need no token then judge how it protects itself.
	protected bool
	// stop ends the process that only this conversation uses; nil if there is none.
	stop func()
}

func (p *probed) isSpoken() bool { return p.chosen == string(p.revision) && !p.protected }

// isUnanswered reports whether there was no response at all.
func (p *probed) isUnanswered() bool { return p.conv == nil || !p.reply.Answered() }

// mayLackResources reports whether there was no response, possibly because other running servers
// hold a port or a lock. A server that runs but stays silent has what it needs, so it does not
// count.
func (p *probed) mayLackResources() bool {
	return p.isUnanswered() && !(p.conv != nil && errors.Is(p.reply.Err, client.ErrUnanswered))
}

// hasWrongID reports whether the server sent a message that is probably the response to the opening
// request, but has another id.
func (p *probed) hasWrongID() bool {
	return p.conv != nil && !p.reply.Answered() && slices.ContainsFunc(p.conv.Record.From(0), func(e *transcript.Event) bool {
		return e.Kind == transcript.Received && (e.Exchange == 0 || !e.Unterminated) && slices.ContainsFunc(e.Messages(), func(m wire.Message) bool {
			return m.Kind == wire.Response && (m.Has("result") || m.ID.IsPresent() && !m.ID.IsNull())
		})
	})
}

// listsInvalidly reports whether the server lists the stateless revision in a message that is not a
// valid response to server/discover: it has no or another id, or an error next to the result.
func (p *probed) listsInvalidly() bool {
	return p.conv != nil && p.revision.Era() == spec.Stateless && !p.reply.Succeeded() &&
		slices.ContainsFunc(p.conv.Record.From(0), func(e *transcript.Event) bool {
			return e.Kind == transcript.Received && slices.ContainsFunc(e.Messages(), func(m wire.Message) bool {
				return client.Server{Result: m.Result()}.Lists(p.revision)
			})
		})
}

// probe finds out which revisions the server speaks, and returns the conversations in these
// revisions. If the user names no revisions and the server lists the stateless one, the run judges
// that one too, alone or in addition to handshake revisions.
func (r *prober) probe(ctx context.Context) (*probedConversations, error) {
	found, err := r.probeRevisions(ctx, r.s.o.wantedRevisions())
	if !errors.Is(err, ErrStatelessOnly) {
		return found, err
	}
	if len(r.s.o.Revisions) > 0 {
		r.endUnjudged(r.discovered)
		return nil, err
	}
	r.s.gate.drain()
	return r.probeRevisions(ctx, spec.StatelessRevisions())
}

func (r *prober) probeRevisions(ctx context.Context, wanted []spec.Revision) (*probedConversations, error) {
	pass := r.s.gate.enter(false, 0)
	first, err := r.openFirst(ctx, wanted[0])
	results := []*probed{first}
	if err != nil {
		r.s.endProbed(results...)
		pass.finishWork()
		pass.leave()
		return nil, err
	}
	if first.hasWrongID() || first.misdirected || first.failed || first.protected {
		return r.settleProbe(ctx, pass, results)
	}
	if !r.s.o.judgesOnlyNewest() || !first.isSpoken() || len(r.s.o.pairs(first.revision)) == 0 {
		results = append(results, r.openConcurrently(ctx, r.withoutExcluded(first, wanted[1:]), first)...)
	}
	if slices.ContainsFunc(results, (*probed).mayLackResources) {
		results = r.reopenAlone(ctx, results)
	}
	results = r.addStateless(ctx, results)
	if r.s.o.judgesOnlyNewest() {
		results = r.keepNewestRevision(results)
	}
	return r.settleProbe(ctx, pass, results)
}

// openFirst sends the opening request of the first revision. The error says why
// the server cannot be used.
func (r *prober) openFirst(ctx context.Context, rev spec.Revision) (*probed, error) {
	limit := max(r.s.o.StartTimeout, r.s.o.FirstStart)
	stop := ReportWaiting("the server's first response", cmp.Or(limit, client.DefaultStartTimeout), r.s.o.Progress.Waiting)
	first := r.discovered
	if first == nil {
		first = r.openRevision(ctx, rev, limit, nil)
	}
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

// announcesUnusableEndpoint reports whether the server announced an endpoint, as an HTTP+SSE server
// does, but broke the requirement about it. That explains why initialize got no response.
func (r *prober) announcesUnusableEndpoint(p *probed) bool {
	if p.conv == nil || r.s.transport() != spec.SSE {
		return false
	}
	all := transcript.ExchangesOf(p.conv.Record.From(0)).All()
	if len(all) == 0 {
		return false
	}
	if _, announced := announcedEndpoint(all[0]); !announced {
		return false
	}
	return r.breaksRequirement(p, "sse.endpoint-event")
}

// failsInitialize reports whether the server breaks a requirement by not serving initialize over
// HTTP. The rule about it applies only if the server reads JSON-RPC, or opens streams.
func (r *prober) failsInitialize(p *probed) bool {
	return p.conv != nil && p.conv.Web() != nil && r.breaksRequirement(p, "lifecycle.initialize-response")
}

// breaksRequirement reports whether the conversation of p shows that a
// requirement is broken.
func (r *prober) breaksRequirement(p *probed, requirement string) bool {
	return slices.ContainsFunc(r.s.ruleResults(p.conv), func(result rules.Result) bool {
		return slices.ContainsFunc(result.Deviations, func(d verdict.Deviation) bool {
			return d.Requirement == requirement && d.Outcome(spec.Requirements().Lookup(d.Requirement), p.revision) == verdict.Broken
		})
	})
}

// withoutExcluded returns those of the revisions that the server may speak, judging by its response
// to the first opening request. The others are recorded as not spoken.
func (r *prober) withoutExcluded(first *probed, revisions []spec.Revision) (left []spec.Revision) {
	for _, rev := range revisions {
		if !first.excludes(rev) {
			left = append(left, rev)
			continue
		}
		r.offer.notSpoken = append(r.offer.notSpoken, verdict.NotSpoken{
			Revision: rev, Reason: fmt.Sprintf("the error %d that refuses %s does not list it as supported", spec.CodeUnsupported, first.revision),
		})
	}
	return left
}

// excludes reports whether the response is the error for an unsupported version, and the error's
// list of supported versions does not contain this revision. In 2026-07-28 the error must list all
// supported versions; earlier revisions do not define the error code.
func (p *probed) excludes(rev spec.Revision) bool {
	if !p.reply.Answered() {
		return false
	}
	if code, ok := p.reply.Message.ErrorCode(); !ok || spec.Code(code) != spec.CodeUnsupported {
		return false
	}
	supported := p.reply.Message.SupportedVersions()
	return len(supported) > 0 && !slices.Contains(supported, string(rev))
}

// openConcurrently sends the opening requests of the given revisions concurrently, each to its own
// server. Controls (see client.Starts) use the revision of first, in which the server has
// responded.
func (r *prober) openConcurrently(ctx context.Context, revisions []spec.Revision, first *probed) []*probed {
	if len(revisions) == 0 {
		return nil
	}
	what := fmt.Sprintf("the server's first response in %s", joinRevisions(revisions, ", "))
	defer ReportWaiting(what, cmp.Or(r.s.o.StartTimeout, client.DefaultStartTimeout), r.s.o.Progress.Waiting)()
	control := &starts{session: r.s, revision: first.revision, dialer: r.s.dialer}
	out := make([]*probed, len(revisions))
	var wg sync.WaitGroup
	for i, rev := range revisions {
		wg.Go(func() { out[i] = r.openRevision(ctx, rev, r.s.o.StartTimeout, control) })
	}
	wg.Wait()
	return out
}

// openRevision sends the opening request of one revision. start is how long the server may take to
// start. control becomes client.Options.Starts, and may be nil.
func (r *prober) openRevision(ctx context.Context, rev spec.Revision, start time.Duration, control client.Starts) *probed {
	return r.openRevisionWith(ctx, r.s.dialer, rev, start, control)
}

// openRevisionWith is like openRevision, but connects to the server with the given dialer.
func (r *prober) openRevisionWith(ctx context.Context, d transport.Dialer, rev spec.Revision, start time.Duration, control client.Starts) *probed {
	p := &probed{revision: rev, reply: &client.Reply{}}
	co := r.s.o.clientOptions(rev)
	co.StartTimeout, co.Pace, co.Starts = start, r.s.timing.paces[rev], control
	p.conv, p.err = r.s.dialWith(ctx, d, co)
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

// reopenAlone repeats the opening request, with no other server running, in each revision that got
// no response while other servers were running. At the first response it tries to start a second
// server next to the first. If that fails, servers run one at a time from then on. Otherwise it
// reopens the conversations in all spoken revisions concurrently.
func (r *prober) reopenAlone(ctx context.Context, results []*probed) []*probed {
	r.s.endProbed(results...)
	tried := r.s.sharesProcess() // a shared process has no second copy
	var why string
	for i, p := range results {
		if !p.mayLackResources() {
			continue
		}
		results[i] = r.openRevision(ctx, p.revision, r.s.o.StartTimeout, nil)
		if !tried && !results[i].isUnanswered() {
			tried = true
			why = r.whyNoSecondCopy(ctx, results[i])
			r.s.gate.isSingle = why != ""
		}
		r.s.endProbed(results[i])
	}
	if r.s.gate.isSingle {
		r.s.notices.add("a second copy of the server " + why + ", so one runs at a time")
		return results
	}
	var wg sync.WaitGroup
	for i, p := range results {
		if !p.isSpoken() {
			continue
		}
		wg.Go(func() {
			again := r.openRevision(ctx, p.revision, r.s.o.StartTimeout, nil)
			if !again.isSpoken() {
				r.s.endProbed(again)
				return
			}
			results[i] = again
		})
	}
	wg.Wait()
	return results
}

// whyNoSecondCopy returns why two copies of the server cannot run at once, or "". The reason
// continues the phrase "a second copy of the server".
func (r *prober) whyNoSecondCopy(ctx context.Context, first *probed) string {
	second := r.openRevision(ctx, first.revision, r.s.restartTimeout(), nil)
	r.s.endProbed(second)
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

func (p *probed) unspokenReason() string {
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
		return opening + " got no response"
	case p.reply.Succeeded() && p.revision.Era() == spec.Stateless:
		return p.conv.Server().DescribeListedVersions()
	case p.reply.Succeeded() && p.chosen == "":
		return "the result of initialize has no protocolVersion"
	case p.reply.Succeeded():
		return "the server chose " + wire.Excerpt(p.chosen, 80)
	default:
		return "the server answered " + opening + " with " + suite.Describe(p.reply)
	}
}
