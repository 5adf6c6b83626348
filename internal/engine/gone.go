package engine

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/transport"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
	"github.com/mcp-conform/mcp-conform/internal/wire"
)

// A watch checks whether a server at a URL still serves. All conversations
// share that server, and the run cannot restart it. If it fails during a run
// (it exited, its token expired, its proxy fails), later observations say
// nothing about the protocol, and every further case would cost time. So if a
// conversation ends without its last response, the run attempts a handshake of
// its own; if that fails too, the run ends.
type watch struct {
	check func() string // why the server is gone, or ""
	stop  context.CancelCauseFunc

	mu         sync.Mutex
	lastServed time.Time // when it was last seen to serve
	isGone     bool
	// doubtful holds, for each record, the position from which on its events
	// prove nothing.
	doubtful map[*transcript.Transcript]int
}

// A goneError is the cause of the end of a run whose server no longer serves.
type goneError struct{ why string }

func (e *goneError) Error() string { return "the server no longer serves any client: " + e.why }

// recheckAfter is how long a server that was seen to serve is not checked
// again.
const recheckAfter = 500 * time.Millisecond

// pauses are the waits between the checks, for a server that restarts or a
// proxy that fails for a moment. After checkingTime no further check is made.
var pauses = []time.Duration{300 * time.Millisecond, time.Second, 2 * time.Second}

const checkingTime = 3 * time.Second

// watchServer begins to watch the server. The returned context ends when the
// server no longer serves.
func (r *session) watchServer(ctx context.Context, offered *offer) (context.Context, context.CancelCauseFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	r.stop = stop
	rev := offered.servedRevision()
	if _, shares := r.o.Dialer.(transport.Sharer); shares || rev == "" {
		return ctx, stop
	}
	r.watch = &watch{stop: stop, doubtful: map[*transcript.Transcript]int{}, check: func() string { return r.whyUnserved(ctx, rev) }}
	r.o.Progress = &watchedProgress{r.o.Progress, r.watch}
	return ctx, stop
}

// servedRevision returns a revision in which requests are served, the newest if it is one, or "".
func (r *offer) servedRevision() spec.Revision {
	if len(r.revisions) == 0 || r.handshakeFails != "" || len(r.unresponsive) == len(r.revisions) {
		return ""
	}
	rev := r.revisions[len(r.revisions)-1]
	if r.unresponsive[rev] != "" {
		i := slices.IndexFunc(r.revisions, func(other spec.Revision) bool { return r.unresponsive[other] == "" })
		rev = r.revisions[i]
	}
	return rev
}

// watchedProgress reports no area while it is unclear whether the server still
// serves, nor after it has stopped.
type watchedProgress struct {
	Progress
	watch *watch
}

// Area implements Progress.
func (p *watchedProgress) Area(area string, done, total int) {
	if !p.watch.isServerGone() {
		p.Progress.Area(area, done, total)
	}
}

// checkConversation checks the server after a conversation that has ended.
func (w *watch) checkConversation(c *client.Conversation) {
	if w == nil || c.Web() == nil {
		return
	}
	events := c.Record.From(0)
	from, troubled := unansweredSince(events)
	lost, refused := brokenSince(events)
	switch {
	case !troubled && !refused:
		return
	case !troubled || lost >= 0 && lost < from:
		from = lost
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.doubtful[c.Record] = from
	if w.isGone || !refused && time.Since(w.lastServed) < recheckAfter {
		return
	}
	asked := time.Now()
	why := w.check()
	if why == "" {
		w.lastServed = asked
		return
	}
	w.isGone = true
	w.stop(&goneError{why})
}

// isDoubtful reports whether the observation shows nothing, because the server
// no longer served by then.
func (w *watch) isDoubtful(c *candidate) bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isGone {
		return false
	}
	return slices.ContainsFunc(c.unit.conversations, func(conv *client.Conversation) bool {
		from, doubtful := w.doubtful[conv.Record]
		return doubtful && (len(c.At) == 0 || slices.Max(c.At) >= from)
	})
}

// records returns the records by which the unit was judged, each once.
func (u *unit) records() []*transcript.Transcript {
	var out []*transcript.Transcript
	add := func(record *transcript.Transcript) {
		if record != nil && !slices.Contains(out, record) {
			out = append(out, record)
		}
	}
	for _, rd := range u.ruleResults {
		add(rd.record)
	}
	for _, s := range u.observations {
		add(s.Record)
	}
	return out
}

// isSettled reports whether the candidate needs no further retry.
func (c *candidate) isSettled() bool {
	tries := c.attempts - c.earlierAttempts
	switch {
	case tries >= maxAttempts, c.voidAttempts >= maxAttempts:
		return true
	case tries == 0:
		return false
	case c.mustRecur:
		return c.reproduced < tries
	case c.earlierAttempts > 0: // one attempt with another sighting is enough
		return true
	default:
		return c.reproduced > 0
	}
}

// isServerGone reports whether the server no longer serves; it waits for a
// check that is under way.
func (w *watch) isServerGone() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.isGone
}

// unansweredSince reports whether the last request of the conversation got no
// response, in a way that may not be due to the session, and from which
// position on there was no response.
func unansweredSince(events []*transcript.Event) (from int, troubled bool) {
	for e, m := range transcript.Messages(events, transcript.Received) {
		if m.Kind == wire.Response {
			from = e.Seq + 1
		}
	}
	var last *transcript.Request
	for _, r := range transcript.DialogueOf(events).Requests() {
		if r.Exchange != nil && r.Message.ID.Present() {
			last = r
		}
	}
	if last == nil || last.Response() != nil {
		return 0, false
	}
	return from, from == 0 || mayBeOutage(last.Exchange.Status())
}

// brokenSince returns the position from which on no exchange succeeded because
// connections broke or were refused, or -1. It also reports whether a
// connection was refused, which a working server never does.
func brokenSince(events []*transcript.Event) (from int, refused bool) {
	last, from := -1, -1
	for _, e := range events {
		if e.Kind == transcript.Responded || e.Kind == transcript.Received || e.Kind == transcript.Streamed {
			last = e.Seq
		}
	}
	for _, x := range transcript.ExchangesOf(events).All() {
		if x.Request == nil || x.End == nil || x.End.Seq < last || x.Ended() != transcript.Broken && x.Ended() != transcript.Unreachable {
			continue
		}
		refused = refused || x.Ended() == transcript.Unreachable
		at := x.Request.Seq
		if x.Method() != http.MethodPost { // a stream, which may have been open for a long time
			at = x.End.Seq
		}
		if from < 0 || at < from {
			from = at
		}
	}
	return from, refused
}

// checkEnded checks the server after the unit's conversations that have ended,
// so that the next report about their case waits for the result.
func (o *opener) checkEnded() {
	if o.s.watch == nil {
		return
	}
	for _, c := range o.conversations() {
		if !c.Alive() {
			o.s.watch.checkConversation(c)
		}
	}
}

// dropDoubtfulObservations drops what cases observed on a server that no longer
// served.
func (r *reporting) dropDoubtfulObservations() {
	if r.watch == nil || !r.watch.isServerGone() {
		return
	}
	for _, u := range r.plan.units {
		if u.sharesConversation || !slices.ContainsFunc(u.conversations, func(c *client.Conversation) bool { return r.watch.hasDoubtful(c.Record) }) {
			continue
		}
		for i := range u.observations {
			if s := &u.observations[i]; s.Deviation == nil && s.Outcome != verdict.HarnessError {
				s.Observation = suite.Observation{Requirement: s.Requirement, Outcome: verdict.NotObserved, Reason: "the server was gone"}
			}
		}
	}
}

func (w *watch) hasDoubtful(record *transcript.Transcript) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, doubtful := w.doubtful[record]
	return doubtful
}

// mayBeOutage reports whether a status may come from a server that fails, for
// any reason, rather than from one that refuses the request.
func mayBeOutage(status int) bool {
	switch status {
	case 401, 403, 407, 429:
		return true
	}
	return status < 400 || status >= 500
}

// whyUnserved returns why no conversation can be opened any more, or "".
func (r *session) whyUnserved(ctx context.Context, rev spec.Revision) string {
	began := time.Now()
	why := r.whyUnservedOnce(ctx, rev)
	for i := 0; i < len(pauses) && why != "" && (i == 0 || time.Since(began) < checkingTime); i++ {
		select {
		case <-time.After(pauses[i]):
			why = r.whyUnservedOnce(ctx, rev)
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return ""
		}
	}
	return why
}

func (r *session) whyUnservedOnce(ctx context.Context, rev spec.Revision) string {
	o := r.o.clientOptions(rev)
	o.StartTimeout = r.patience()
	conv, err := r.dial(ctx, o)
	if err != nil {
		return err.Error()
	}
	defer func() {
		conv.Shutdown(impatient)
		if r.count(conv) {
			r.record(conv, probing)
		}
		conv.Record.Release()
	}()
	if err := conv.Handshake(ctx); err != nil {
		return Refused(conv.Record.From(0), conv.Options().StartTimeout).Reason
	}
	return whyUnresponsive(ctx, conv)
}
